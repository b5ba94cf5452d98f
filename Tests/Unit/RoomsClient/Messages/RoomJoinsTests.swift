import RoomsClientTesting
import Testing

@testable import RoomsClient

@MainActor
@Suite("Joins and leaves of a room")
struct RoomJoinsTests {
    @Test("a join that follows a leave reaches the server after it, however long the leave takes")
    func joinAfterLeave() async throws {
        let server = SlowLeaves()
        let joins = RoomJoins(server: server)
        try await joins.join("room")
        let leaving = joins.leave("room")
        let joining = Task { try await joins.join("room") }
        // Another room does not wait.
        try await joins.join("other")
        await server.beginning.value
        #expect(server.log == ["join room", "join other"])
        server.finishLeave()
        await leaving.value
        try await joining.value
        #expect(server.log == ["join room", "join other", "left room", "join room"])
    }

    @Test("a leave that follows a join reaches the server after it")
    func leaveAfterJoin() async throws {
        let server = SlowLeaves()
        let joins = RoomJoins(server: server)
        server.finishLeave()
        async let joining: Void = joins.join("room")
        await lookUntil { !server.log.isEmpty }
        await joins.leave("room").value
        try await joining
        #expect(server.log == ["join room", "left room"])
    }
}

/// A server whose leaves end when the test says so.
@MainActor
private final class SlowLeaves: MessageServer {
    private(set) var log: [String] = []
    let beginning: Task<Void, Never>
    private let begin: AsyncStream<Void>.Continuation
    private let finish: AsyncStream<Void>.Continuation
    private let finishing: Task<Void, Never>

    init() {
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let (finished, finish) = AsyncStream<Void>.makeStream()
        (self.begin, self.finish) = (begin, finish)
        beginning = Task { for await _ in begun {} }
        finishing = Task { for await _ in finished {} }
    }

    func finishLeave() { finish.finish() }

    func join(_ roomID: String) { log.append("join \(roomID)") }

    @MainActor
    func leave(_ roomID: String) async {
        begin.finish()
        await finishing.value
        log.append("left \(roomID)")
    }

    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) -> Page<Message> {
        Page(items: [], next: nil)
    }

    func send(_ text: String, tempID: String, in roomID: String) throws -> Message {
        throw ClientFailure.offline("not part of this test")
    }

    func deleteMessage(_ id: String, in roomID: String) {}
    func markRead(_ ids: [String], in roomID: String) {}
    func setTyping(_ isTyping: Bool, in roomID: String) {}
}
