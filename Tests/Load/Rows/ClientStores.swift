import Foundation
import ParlorClient
import ParlorReactor

/// The client library's own share of a person's waits. A stand-in takes the server's place: it cannot
/// be reached, or has nothing to send.
@MainActor
struct ClientStores {
    private static let entries = 200
    private static let messagesInRoom = 10_000
    private static let merges = 1000
    /// The number of own messages, fewer as each is also written to disk.
    private static let ownMerges = 200
    private static let ownID = "ada"
    /// Targets in milliseconds: a room is shown within a frame, and a storm of messages leaves the
    /// main thread to the screen.
    private static let targets = (entry: 10.0, newMessage: 0.05)

    func measure() async throws -> [Row] { [try await entering()] + (try await merging()) }

    /// Enters a room with fifty cached messages, until they are ready to be shown.
    private func entering() async throws -> Row {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary one
        let backing = Self.backing(in: folder, server: UnreachableServer())
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
        return Row(
            name: "client: entering a kept room of 50 messages",
            figures: Self.figures(of: latencies, target: Self.targets.entry), faults: faults)
    }

    /// Merges one message into a room of ten thousand, while a list holds the earlier state. There
    /// are three kinds: a new message, one that arrives late, and the person's own, from sending to
    /// echo. The room is verified, so the library looks for gaps and writes the cache.
    private func merging() async throws -> [Row] {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary one
        let backing = Self.backing(in: folder, server: SilentServer())
        let conversation = Conversation(roomID: "room", ownID: Self.ownID, backing: backing)
        await conversation.enter()
        guard conversation.isVerified else { throw ClientFailure.unreadable("the room is not verified") }
        for seq in 1...Self.messagesInRoom { conversation.apply(.messageNew(Self.message(seq))) }
        var latencies = (new: Latencies(), late: Latencies(), own: Latencies())
        var shown = conversation.items
        var seq = Self.messagesInRoom
        func measure(_ latencies: inout Latencies, _ work: () -> Void) {
            let start = LoopInstant.now()
            work()
            latencies.record(since: start)
            shown = conversation.items
        }
        for _ in 1...Self.merges {
            seq += 1
            measure(&latencies.new) { conversation.apply(.messageNew(Self.message(seq))) }
        }
        for _ in 1...Self.merges {
            seq += 2
            conversation.apply(.messageNew(Self.message(seq)))
            shown = conversation.items
            measure(&latencies.late) { conversation.apply(.messageNew(Self.message(seq - 1))) }
        }
        for _ in 1...Self.ownMerges {
            seq += 1
            measure(&latencies.own) {
                let tempID = conversation.send("One of her own.")
                conversation.apply(.messageNew(Self.message(seq, from: Self.ownID, tempID: tempID)))
            }
        }
        let faults = shown.count == seq ? [] : ["\(shown.count) of \(seq) messages are shown"]
        await conversation.leave()
        await backing.outbox.stop()
        return [
            Row(
                name: "client: one new message into a room of 10,000",
                figures: Self.figures(of: latencies.new, target: Self.targets.newMessage), faults: faults),
            Row(
                name: "client: one late message into a room of 10,000", figures: latencies.late.figures(),
                faults: faults),
            Row(name: "client: one's own into a room of 10,000", figures: latencies.own.figures(), faults: faults),
        ]
    }

    /// Returns the figures, with how many missed the target. None is a fault, as other users of the
    /// machine delay a few.
    private static func figures(of latencies: Latencies, target: Double) -> [Figure] {
        latencies.figures() + [
            Figure("target", target, .milliseconds), Figure("over it", latencies.count(over: target)),
        ]
    }

    private static func backing(in folder: URL, server: some MessageServer) -> MessageBacking {
        let clock = SystemClock()
        return MessageBacking(
            server: server,
            outbox: Outbox(files: RoomFiles(folder: folder.appending(path: "outbox")), server: server, clock: clock),
            cache: MessageCache(files: RoomFiles(folder: folder.appending(path: "cache")), clock: clock),
            receipts: ReadReceipts(server: server, clock: clock), clock: clock)
    }

    private static func message(_ seq: Int) -> Message { message(seq, from: "ben", tempID: nil) }

    private static func message(_ seq: Int, from sender: String, tempID: String?) -> Message {
        Message(
            id: "message-\(seq)", roomID: "room", seq: seq, senderID: sender,
            text: "Message number \(seq) of a room with many.",
            createdAt: Date(timeIntervalSince1970: 1_700_000_000 + Double(seq)), tempID: tempID)
    }
}

/// A server that cannot be reached.
private struct UnreachableServer: MessageServer {
    private let failure = ClientFailure.offline("there is none")

    func join(_ roomID: String, keepingUnseen: Bool) async throws { throw failure }
    func leave(_ roomID: String) async {}
    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message> {
        throw failure
    }
    func send(_ text: String, tempID: String, in roomID: String) async throws -> Message { throw failure }
    func deleteMessage(_ id: String, in roomID: String) async throws { throw failure }
    func markRead(_ ids: [String], in roomID: String) async throws { throw failure }
    func setTyping(_ isTyping: Bool, in roomID: String) async {}
}

/// A server with an empty room that accepts nothing.
private struct SilentServer: MessageServer {
    private let failure = ClientFailure.offline("it does not answer")

    func join(_ roomID: String, keepingUnseen: Bool) async throws {}
    func leave(_ roomID: String) async {}
    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message> {
        Page(items: [])
    }
    func send(_ text: String, tempID: String, in roomID: String) async throws -> Message { throw failure }
    func deleteMessage(_ id: String, in roomID: String) async throws { throw failure }
    func markRead(_ ids: [String], in roomID: String) async throws { throw failure }
    func setTyping(_ isTyping: Bool, in roomID: String) async {}
}
