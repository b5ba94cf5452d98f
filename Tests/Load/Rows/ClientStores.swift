import Foundation
import Reactor
import RoomsClient

/// What the client library takes for what a person waits for. Without a server: it refuses all.
@MainActor
struct ClientStores {
    private static let entries = 200
    private static let messagesInRoom = 10_000
    private static let merges = 1000
    private static let ownID = "ada"

    func measure() async throws -> [Row] { [try await entering(), try await merging()] }

    /// A room of which fifty messages are kept: until they are there to be shown.
    private func entering() async throws -> Row {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary one
        let backing = Self.backing(in: folder)
        _ = await backing.cache.openRoom("room")
        await backing.cache.keep((1...50).map(Self.message), of: "room")
        var latencies = Latencies()
        var faults: [String] = []
        for _ in 0..<Self.entries {
            let conversation = Conversation(roomID: "room", ownID: Self.ownID, backing: backing)
            let start = LoopInstant.now()
            await conversation.enter()
            latencies.record(since: start)
            if conversation.items.count != 50 { faults.append("\(conversation.items.count) of 50 messages are shown") }
            await conversation.leave()
        }
        return Row(name: "client: entering a kept room of 50 messages", figures: latencies.figures(), faults: faults)
    }

    /// One new message into a room of ten thousand, while a list holds what was shown before.
    private func merging() async throws -> Row {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary one
        let conversation = Conversation(roomID: "room", ownID: Self.ownID, backing: Self.backing(in: folder))
        await conversation.enter()
        for seq in 1...Self.messagesInRoom { conversation.apply(.messageNew(Self.message(seq))) }
        var latencies = Latencies()
        var shown = conversation.items
        for seq in 1...Self.merges {
            let event = RoomEvent.messageNew(Self.message(Self.messagesInRoom + seq))
            let start = LoopInstant.now()
            conversation.apply(event)
            latencies.record(since: start)
            shown = conversation.items
        }
        let count = shown.count
        await conversation.leave()
        let total = Self.messagesInRoom + Self.merges
        return Row(
            name: "client: one new message into a room of 10,000", figures: latencies.figures(),
            faults: count == total ? [] : ["\(count) of \(total) messages are shown"])
    }

    private static func backing(in folder: URL) -> Conversation.Backing {
        let (server, clock) = (AwayServer(), SystemClock())
        return Conversation.Backing(
            server: server, outbox: Outbox(folder: folder.appending(path: "outbox"), server: server, clock: clock),
            cache: MessageCache(folder: folder.appending(path: "cache"), clock: clock),
            receipts: ReadReceipts(server: server, clock: clock), clock: clock)
    }

    private static func message(_ seq: Int) -> Message {
        Message(
            id: "message-\(seq)", roomId: "room", seq: seq, senderId: "ben",
            text: "Message number \(seq) of a room with many.",
            createdAt: Date(timeIntervalSince1970: 1_700_000_000 + Double(seq)))
    }
}

/// A server that cannot be reached.
private struct AwayServer: MessageServer {
    private let failure = ClientFailure.offline("there is none")

    func join(_ roomID: String) async throws { throw failure }
    func leave(_ roomID: String) async {}
    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message> {
        throw failure
    }
    func send(_ text: String, tempID: String, in roomID: String) async throws -> Message { throw failure }
    func deleteMessage(_ id: String, in roomID: String) async throws { throw failure }
    func markRead(_ ids: [String], in roomID: String) async throws { throw failure }
    func setTyping(_ isTyping: Bool, in roomID: String) async {}
}
