import Foundation
import Observation
import RoomsClient

/// One room: reading, writing, and a few commands that begin with a slash.
///
/// Commands run beside the keys, one after the other, and say in the notice what became of them.
@MainActor @Observable
final class RoomPlace {
    let roomID: String
    let conversation: Conversation
    @ObservationIgnored private let client: RoomsClient
    @ObservationIgnored private let status: StatusLine
    @ObservationIgnored private let room: Room
    @ObservationIgnored private var running: Task<Void, Never>?
    private var input = LineEditor()
    /// Messages scrolled up from the newest.
    private var offset = 0
    private var notice = "/help"

    static let help = "/note TEXT  /board  /clear  /name NAME  /delete  /retry  /discard  PgUp older  Esc back"

    init(_ room: Room, _ client: RoomsClient, _ status: StatusLine) {
        self.status = status
        self.room = room
        self.client = client
        roomID = room.id
        conversation = client.open(room)
    }

    // MARK: What is shown

    var screen: RoomScreen {
        let room = client.rooms[roomID] ?? room
        var states = [room.elementCount == 1 ? "1 element" : "\(room.elementCount) elements", status.text]
        if !conversation.isVerified { states.insert("checking…", at: 0) }
        return RoomScreen(
            title: room.title(), status: states.joined(separator: ", "), entries: conversation.items.map(entry),
            offset: min(offset, max(0, conversation.items.count - 1)), typing: typing(in: room), notice: notice,
            input: input)
    }

    /// What the screen says was drawn.
    func noteShown() {
        if offset == 0 { conversation.noteVisible(conversation.items) }
    }

    private func entry(of item: MessageItem) -> RoomScreen.Entry {
        let isMine = item.senderID == client.user.id
        let sender = room.participants.first { $0.userId == item.senderID }
        var entry = RoomScreen.Entry(
            author: isMine ? "You" : sender.map { $0.firstName ?? $0.username } ?? "Somebody", text: item.text,
            time: item.createdAt.formatted(date: .omitted, time: .shortened), isMine: isMine)
        guard isMine else { return entry }
        switch item.state {
        case .queued, .sent: entry.mark = "…"
        case .stored: entry.mark = "✓"
        case .read: entry.mark = "✓✓"
        case .failed(let failure): (entry.mark, entry.hasFailed) = ("not sent: \(failure.message)", true)
        }
        return entry
    }

    private func typing(in room: Room) -> String {
        let names = conversation.typistIDs.compactMap { id in
            room.participants.first { $0.userId == id }.map { $0.firstName ?? $0.username }
        }
        if names.isEmpty { return conversation.failure?.text ?? "" }
        return names.joined(separator: " and ") + (names.count == 1 ? " is typing…" : " are typing…")
    }

    // MARK: Keys

    /// - Returns: whether the room is left.
    func press(_ key: Key, height: Int) -> Bool {
        switch key {
        case .escape: return true
        case .enter: enter()
        case .pageUp:
            offset = min(offset + height / 2, max(0, conversation.items.count - 1))
            if offset + height > conversation.items.count { Task { await conversation.loadOlder() } }
        case .pageDown: offset = max(0, offset - height / 2)
        default:
            guard input.press(key) else { break }
            notice = ""
            if input.isEmpty || input.characters.first == "/" {
                conversation.stoppedTyping()
            } else {
                conversation.typed()
            }
        }
        return false
    }

    private func enter() {
        let text = input.take()
        offset = 0
        guard text.hasPrefix("/") else {
            conversation.send(text)
            return
        }
        let words = text.dropFirst().split(separator: " ", maxSplits: 1).map(String.init)
        notice = "…"
        running = Task { [previous = running] in
            await previous?.value
            do {
                notice = try await carryOut(words.first ?? "", words.count > 1 ? words[1] : "")
            } catch {
                notice = (error as? ClientFailure)?.text ?? error.localizedDescription
            }
        }
    }

    /// - Returns: what is said of it.
    private func carryOut(_ command: String, _ argument: String) async throws -> String {
        switch command {
        case "note":
            guard !argument.isEmpty else { return "/note TEXT" }
            _ = try await client.api.makeElement(
                type: "note", content: .object(["text": .string(argument)]), tempID: UUID().uuidString, in: roomID)
            return "On the board."
        case "board":
            let elements = try await client.api.elements(in: roomID, limit: nil, cursor: nil).items
            let texts = elements.map { $0.content["text"]?.string ?? "[\($0.type)]" }
            return texts.isEmpty ? "The board is empty." : texts.joined(separator: " · ")
        case "clear":
            let count = try await client.api.clear(roomID)
            return count == 1 ? "1 element is gone." : "\(count) elements are gone."
        case "name":
            try await client.rooms.rename(roomID, to: argument)
            return ""
        case "delete":
            guard let last = conversation.items.last(where: { $0.senderID == client.user.id && $0.message != nil })
            else { return "You have no message here." }
            try await conversation.delete(last.id)
            return "Your last message is gone."
        case "retry", "discard":
            let failed = conversation.items.filter { if case .failed = $0.state { true } else { false } }
            for item in failed {
                if command == "retry" { await conversation.retry(item.id) } else { await conversation.discard(item.id) }
            }
            return failed.isEmpty ? "Nothing has failed." : ""
        default: return Self.help
        }
    }
}
