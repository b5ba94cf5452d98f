import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// A clock whose time the test sets, forward or back.
private final class AdjustableClock: ClientClock {
    private let time = Guarded(Given.at(1000))

    var now: Date { time.withLock { $0 } }

    func set(to date: Date) { time.withLock { $0 = date } }

    func sleep(for duration: Duration) async throws { try await TestClock().sleep(for: duration) }
}

/// Tests of counts that may be wrong, and of a clock that was.
@Suite("RoomList: doubts", .timeLimit(.minutes(1))) @MainActor
struct RoomListDoubtTests {
    private let clock = TestClock(start: Given.at(1000))
    private let server = FakeRoomServer()
    private let list: RoomList

    init() { list = RoomList(for: "me", from: server, clock: clock, random: { 1 }) }

    /// Loads a room that is open, and lets so much time pass that later events are surely not part of the answer.
    private func openRoom(unread: Int) async {
        server.all = [Given.room("r", badges: .init(messages: unread))]
        await list.refresh()
        list.enter("r")
        await clock.advance(by: .seconds(10))
    }

    private func badges(_ messages: Int) {
        list.apply(.badges(roomID: "r", badges: .init(messages: messages), hasUnread: messages > 0))
    }

    private func leave() async {
        list.beginLeaving("r")
        list.leave("r")
        await clock.advance(by: .milliseconds(100))
    }

    @Test("badges that cross a message in an open room are fetched once, when it is left")
    func crossed() async {
        await openRoom(unread: 1)
        // Another device has read the first message. The badges were composed before the second one.
        list.apply(.messageNew(Given.message("m2", in: "r", at: 1010)))
        badges(0)
        badges(0)
        server.set(Given.room("r", badges: .init(messages: 1)))
        await clock.advance(by: .seconds(1))
        #expect(server.calls == ["rooms"])
        await leave()
        #expect(server.calls == ["rooms", "room r"])
        #expect(list["r"]?.badges.messages == 1)
    }

    @Test("badges that count a message before its event come with a fetch when the room is left")
    func ahead() async {
        await openRoom(unread: 0)
        badges(1)
        list.apply(.messageNew(Given.message("m1", in: "r", at: 1010)))
        server.set(Given.room("r", badges: .init(messages: 1)))
        await leave()
        #expect(server.calls == ["rooms", "room r"])
        #expect(list["r"]?.badges.messages == 1)
    }

    @Test("a room whose last badges came long after its last message is not fetched when it is left")
    func settled() async {
        await openRoom(unread: 0)
        list.apply(.messageNew(Given.message("m1", in: "r", at: 1010)))
        badges(0)
        await clock.advance(by: .seconds(10))
        badges(0)
        await leave()
        #expect(server.calls == ["rooms"])
    }

    @Test("after the clock is set back, a room of the same name is a new one, and the list is not fresh")
    func clockSetBack() async throws {
        let clock = AdjustableClock()
        var ids = ["first", "second"]
        let list = RoomList(for: "me", from: server, clock: clock, random: { 1 }, makeID: { ids.removeFirst() })
        await list.refresh()
        server.failure = .offline("away")
        await #expect(throws: ClientFailure.self) { try await list.makeRoom(with: "bob") }
        server.failure = nil
        clock.set(to: Given.at(1000 - 86_400))
        _ = try await list.makeRoom(with: "bob")
        #expect(ids.isEmpty, "the second creation has an id of its own")
        let calls = server.calls.count
        await list.becomeActive()
        #expect(server.calls.count == calls + 1)
    }
}
