import Foundation
import Observation
import RoomsClient

/// One room: reading, writing, and a few commands that begin with a slash.
///
/// Commands run beside the keys, one after the other, and say in the notice what became of them.
@MainActor @Observable
final class RoomController {
    let roomID: String
    let conversation: Conversation
    @ObservationIgnored let client: RoomsClient
    @ObservationIgnored private let status: StatusLine
    @ObservationIgnored private let room: Room
    @ObservationIgnored var running: Task<Void, Never>?
    private var input = LineEditor()
    /// Messages scrolled up from the newest.
    private var offset = 0
    /// What the last frame drew.
    @ObservationIgnored private var drawn: Slice<MessageItems>?
    var notice = "/help"
    /// What `y` does, and any other key does not.
    var asked: Question?
    /// All elements, in place of the messages.
    var board: TextScreen?

    enum Question {
        case clear
        case delete(messageID: String)
    }

    static let help = "/note TEXT  /board  /clear  /name NAME  /delete  /retry  /discard  PgUp older  Esc back"

    init(_ room: Room, _ client: RoomsClient, _ status: StatusLine) {
        self.status = status
        self.room = room
        self.client = client
        roomID = room.id
        conversation = client.open(room)
    }

    // MARK: What is shown

    func frame(in size: WindowSize) -> Frame {
        if let board {
            drawn = nil
            return board.frame(in: size)
        }
        // Each takes a line at least: no more can be drawn.
        let items = conversation.items.dropLast(min(offset, max(0, conversation.items.count - 1))).suffix(size.rows)
        let (frame, count) = screen(of: items).drawn(in: size)
        drawn = items.suffix(count)
        return frame
    }

    private func screen(of items: Slice<MessageItems>) -> RoomScreen {
        let room = client.rooms[roomID] ?? room
        var states = [room.elementCount == 1 ? "1 element" : "\(room.elementCount) elements", status.text()]
        if !conversation.isVerified { states.insert("checking…", at: 0) }
        return RoomScreen(
            title: room.title(), status: states.joined(separator: ", "), entries: items.map(entry),
            typing: typing(in: room), notice: notice, input: input)
    }

    /// What the last frame drew can be seen.
    func noteShown() {
        if let drawn { conversation.noteVisible(drawn) }
    }

    private func entry(of item: MessageItem) -> RoomScreen.Entry {
        let isMine = item.senderID == client.user.id
        let sender = room.participants.first { $0.userId == item.senderID }
        var entry = RoomScreen.Entry(
            author: isMine ? "You" : sender?.displayName ?? "Somebody", text: item.text,
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
            room.participants.first { $0.userId == id }?.displayName
        }
        if names.isEmpty { return conversation.failure?.text ?? "" }
        return names.joined(separator: " and ") + (names.count == 1 ? " is typing…" : " are typing…")
    }

    // MARK: Keys

    /// - Returns: whether the room is left.
    func press(_ key: Key, in size: WindowSize) -> Bool {
        if board != nil {
            scrollBoard(key, in: size)
            return false
        }
        if let asked {
            self.asked = nil
            if key == .character("y") { confirm(asked) } else { notice = "Nothing was done." }
            return false
        }
        switch key {
        case .escape: return true
        case .enter: enter()
        case .pageUp:
            offset = min(offset + size.rows / 2, max(0, conversation.items.count - 1))
            if offset + size.rows > conversation.items.count { Task { await conversation.loadOlder() } }
        case .pageDown: offset = max(0, offset - size.rows / 2)
        default:
            guard input.press(key) else { break }
            notice = ""
            if input.isEmpty || input.isCommand {
                conversation.stoppedTyping()
            } else {
                conversation.typed()
            }
        }
        return false
    }

    private func scrollBoard(_ key: Key, in size: WindowSize) {
        guard var shown = board else { return }
        let last = shown.lastTop(in: size)
        switch key {
        case .up: shown.top -= 1
        case .down: shown.top += 1
        case .pageUp: shown.top -= TextScreen.height(in: size)
        case .pageDown: shown.top += TextScreen.height(in: size)
        case .escape, .enter, .character("q"):
            board = nil
            return
        default: return
        }
        shown.top = min(max(shown.top, 0), last)
        board = shown
    }

    private func enter() {
        offset = 0
        if input.isCommand {
            let words = input.text.dropFirst().split(separator: " ", maxSplits: 1).map(String.init)
            guard begin(words.first ?? "", words.count > 1 ? words[1] : "") else {
                notice = "No command. // at the beginning sends a slash. \(Self.help)"
                return
            }
            _ = input.take()
        } else {
            let text = input.take()
            conversation.send(text.hasPrefix("//") ? String(text.dropFirst()) : text)
        }
    }
}

extension LineEditor {
    /// Two slashes begin a message with one.
    fileprivate var isCommand: Bool { characters.first == "/" && characters.dropFirst().first != "/" }
}
