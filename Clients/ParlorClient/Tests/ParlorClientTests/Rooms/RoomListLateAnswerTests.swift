import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of late answers.
extension RoomListTests {
    /// Requests all rooms. The answer has their current state, but arrives only after `server.release`.
    private func askSlowly() async -> Task<Void, Never> {
        server.hold()
        let refreshing = Task { await list.refresh() }
        await server.untilCalled(server.calls.count + 1)
        server.letPass()
        return refreshing
    }

    private func noteGone() -> () -> [String] {
        var gone: [String] = []
        list.onGone = { roomID, _ in gone.append(roomID) }
        return { gone }
    }

    @Test("a room created while an older answer is on its way stays, and is fetched once more")
    func made() async throws {
        await load(Given.room("a"))
        let gone = noteGone()
        let refreshing = await askSlowly()
        _ = try await list.makeRoom(with: "bob")
        server.release()
        await refreshing.value
        #expect(list["made"] != nil)
        await untilFetched()
        #expect(list["made"] != nil)
        #expect(gone() == [])
        #expect(server.calls == ["rooms", "rooms", "make bob", "room made"])
    }

    @Test("a name set while an older answer is on its way stays")
    func renamed() async throws {
        await load(Given.room("a"))
        let refreshing = await askSlowly()
        try await list.rename("a", to: "Kitchen")
        server.release()
        await refreshing.value
        #expect(list["a"]?.displayName == "Kitchen")
    }

    @Test("a room missing from an answer is removed only when the server confirms it")
    func missing() async {
        await load(Given.room("a"), Given.room("b"))
        let gone = noteGone()
        server.all = [Given.room("b")]
        let refreshing = await askSlowly()
        server.set(Given.room("a"))
        server.release()
        await refreshing.value
        #expect(ids == ["b"])
        await untilFetched()
        #expect(Set(ids) == ["a", "b"])
        #expect(gone() == [])

        server.all = [Given.room("b")]
        await list.refresh()
        server.failure = .offline("away")
        await untilFetched()
        #expect(gone() == [])
        server.failure = nil
        await clock.advance(by: .seconds(1))
        #expect(gone() == ["a"])
        let calls = server.calls.count
        await clock.advance(by: .seconds(60))
        #expect(server.calls.count == calls)
    }

    @Test("many rooms missing from an answer are fetched one by one")
    func manyMissing() async {
        server.all = (0..<20).map { Given.room("r\($0)") }
        await list.refresh()
        let gone = noteGone()
        server.all = []
        await list.refresh()
        await untilFetched()
        for _ in 0..<5 { await clock.advance(by: .seconds(1)) }
        #expect(gone().count == 20)
        #expect(server.calls.count == 22)
    }

    @Test("many rooms to check that the list lacks are fetched one by one, and all rooms only once")
    func manyUnknown() async {
        await load(Given.room("a"))
        let gone = noteGone()
        for number in 0..<20 { list.check("r\(number)") }
        await untilFetched()
        for _ in 0..<60 { await clock.advance(by: .seconds(1)) }
        #expect(gone().count == 20)
        #expect(server.calls.count == 21)
        #expect(server.calls.count { $0 == "rooms" } == 1)
    }

    @Test("an answer that is older than the check of a room does not replace it")
    func checkedMeanwhile() async {
        await load(Given.room("a"), Given.room("b"))
        let gone = noteGone()
        let refreshing = await askSlowly()
        server.all = [Given.room("b")]
        list.check("a")
        server.release()
        await refreshing.value
        await untilFetched()
        #expect(gone() == ["a"])
        #expect(ids == ["b"])
    }

    @Test("a load that began before a reconnect does not replace the one after it")
    func recoveredMeanwhile() async {
        server.hold()
        list.loadFirst()
        await server.untilCalled(1)
        list.apply(SocketUpdate.recovered(true))
        await TestClock.settle()
        server.failure = .refused(Refusal(code: "unavailable", message: "", isRetryable: true, status: 503))
        server.release()
        await server.untilCalled(2)
        await TestClock.settle()
        #expect(list.failure != nil)
        server.failure = nil
        await clock.advance(by: .seconds(1))
        #expect(server.calls == ["rooms", "rooms", "rooms"])
        #expect(list.failure == nil)
        await clock.advance(by: .seconds(60))
        #expect(server.calls.count == 3)
    }
}
