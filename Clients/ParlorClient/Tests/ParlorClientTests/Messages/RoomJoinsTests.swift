import ClientTestSupport
import Testing

@testable import ParlorClient

@MainActor
@Suite("Joins and leaves of a room", .timeLimit(.minutes(1)))
struct RoomJoinsTests {
    private let server = HeldServer()

    @Test("a room's next call waits for the answer to the one before", arguments: [true, false])
    func order(joinsFirst: Bool) async throws {
        let joins = RoomJoins(server: server)
        let calls = joinsFirst ? ["join room", "leave room"] : ["leave room", "join room"]
        let first = Task { try await Self.make(calls[0], with: joins) }
        await lookUntil { server.log == [calls[0]] }
        let second = Task { try await Self.make(calls[1], with: joins) }
        // A call for another room does not wait.
        let other = Task { try await Self.make("join other", with: joins) }
        await lookUntil { server.log.count == 2 }
        #expect(server.log == [calls[0], "join other"])
        server.answer()
        try await first.value
        await lookUntil { server.log.count == 3 }
        #expect(server.log == [calls[0], "join other", calls[1]])
        server.answer()
        server.answer()
        try await second.value
        try await other.value
    }

    @Test("a join that is cancelled while it waits is not sent, and the next call is")
    func cancelled() async throws {
        let joins = RoomJoins(server: server)
        let leaving = joins.leave("room")
        await lookUntil { server.log == ["leave room"] }
        let cancelled = Task { try await joins.join("room", keepingUnseen: false) }
        cancelled.cancel()
        server.answer()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await leaving.value
        let next = Task { try await joins.join("room", keepingUnseen: false) }
        await lookUntil { server.log.count == 2 }
        #expect(server.log == ["leave room", "join room"])
        server.answer()
        try await next.value
    }

    private static func make(_ call: String, with joins: RoomJoins) async throws {
        switch call {
        case "leave room": await joins.leave("room").value
        case "join room": try await joins.join("room", keepingUnseen: false)
        default: try await joins.join("other", keepingUnseen: false)
        }
    }
}

/// A server that answers joins and leaves when the test says so, the oldest first.
@MainActor
private final class HeldServer: MessageServer {
    /// The calls that have arrived.
    private(set) var log: [String] = []
    private var held: [CheckedContinuation<Void, Never>] = []

    func answer() { held.removeFirst().resume() }

    func join(_ roomID: String, keepingUnseen: Bool) async { await hold("join \(roomID)") }
    func leave(_ roomID: String) async { await hold("leave \(roomID)") }

    private func hold(_ call: String) async {
        await withCheckedContinuation {
            log.append(call)
            held.append($0)
        }
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
