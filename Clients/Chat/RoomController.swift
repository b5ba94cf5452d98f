import Foundation
import Observation
import ParlorClient

/// One room: its messages, its input line, and the commands that begin with a slash.
///
/// Commands run in the background, one after the other, so keys never wait. The notice shows their outcome.
@MainActor @Observable
final class RoomController {
    let roomID: String
    let conversation: Conversation
    @ObservationIgnored let client: RoomsClient
    @ObservationIgnored private let status: StatusLine
    @ObservationIgnored private let room: Room
    @ObservationIgnored var running: Task<Void, Never>?
    private var input = LineEditor()
    /// The number of lines by which the view is scrolled up from the newest message.
    private var offset = 0 { didSet { anchor = nil } }
    /// The last visible item of a view that is scrolled up, and the number of its lines below the view. It keeps the
    /// view in place while the lines below change.
    @ObservationIgnored private var anchor: (id: MessageItem.ID, hiddenLines: Int)?
    /// True once the view no longer goes to the first unread message by itself. It has done so, the room has loaded
    /// without one, or the person has scrolled or pressed Enter.
    @ObservationIgnored private var isPlaced = false
    /// The items that are visible in the last frame; nil while the board is shown.
    @ObservationIgnored private var drawn: Slice<MessageItems>?
    var notice = "/help"
    /// The open question. `y` confirms it, and any other key cancels it.
    var asked: Question?
    /// The first visible line of the board; nil while the messages are shown.
    var boardTop: Int?
    /// The board. It is opened at its first use, and closed when the room is left.
    @ObservationIgnored private(set) var liveBoard: Board?

    enum Question {
        case clear
        case delete(messageID: String)
    }

    static let help =
        "/read  /note TEXT  /board  /edit N TEXT  /remove N  /clear  /name NAME  /delete  /retry  /discard  PgUp older  Esc back"

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
        placeAtFirstUnread(in: size)
        keepPlace(in: size)
        // Each item has at least one line, so more items cannot be visible.
        let items = conversation.items.suffix(size.rows + offset)
        let (frame, count, below) = screen(of: items).drawn(in: size, scrolledBy: offset)
        drawn = items.dropLast(below).suffix(count)
        if offset > 0, anchor == nil, let last = drawn?.last {
            anchor = (last.id, max(0, offset - screen(of: items.suffix(below)).lineCount(in: size)))
        }
        return frame
    }

    /// Keeps the visible messages in place. If lines were added or removed below a view that is scrolled up, the offset
    /// changes by their number.
    private func keepPlace(in size: WindowSize) {
        let items = conversation.items
        guard let anchor, let index = items.lastIndex(where: { $0.id == anchor.id }) else { return }
        let place = screen(of: items[(index + 1)...]).lineCount(in: size) + anchor.hiddenLines
        if place != offset { offset = place }
    }

    /// Scrolls to the first unread message when the room has loaded. Messages that arrive later do not move the view.
    private func placeAtFirstUnread(in size: WindowSize) {
        guard !isPlaced, conversation.isVerified || conversation.firstUnread != nil else { return }
        isPlaced = true
        let items = conversation.items
        guard let first = conversation.firstUnread, let index = items.firstIndex(where: { $0.id == first }) else {
            return
        }
        offset = screen(of: items[index...]).lastOffset(in: size)
    }

    /// Scrolls up. Only the items that the new view needs are laid out. At the top, older messages are fetched.
    private func scroll(by lines: Int, in size: WindowSize) {
        isPlaced = true
        // A message may have arrived since the last frame.
        keepPlace(in: size)
        let wanted = max(0, offset + lines)
        let last = screen(of: conversation.items.suffix(size.rows + wanted)).lastOffset(in: size)
        offset = min(wanted, last)
        if wanted >= last { Task { await conversation.loadOlder() } }
    }

    private func scrollDown(by lines: Int, in size: WindowSize) {
        isPlaced = true
        keepPlace(in: size)
        offset = max(0, offset - lines)
    }

    // MARK: The board

    /// Opens the board, unless it is open already. Events keep it up to date until the room is left.
    func openBoard() -> Board {
        if let liveBoard { return liveBoard }
        let board = client.openBoard(client.rooms[roomID] ?? room)
        liveBoard = board
        return board
    }

    func close() async {
        if let liveBoard { await client.close(liveBoard) }
        await client.close(conversation)
    }

    private var board: TextScreen? {
        guard let boardTop, let liveBoard else { return nil }
        let texts = liveBoard.items.enumerated().map { place, item in
            let state =
                switch item.state {
                case .stored: ""
                case .saving: "  …"
                case .failed(let failure): "  not saved: \(failure.message)"
                }
            return "\(item.element.content["text"]?.string ?? "[\(item.element.type)]")  #\(place + 1)\(state)"
        }
        let conflicts = liveBoard.conflicts.count
        return TextScreen(
            title: "The board of \(client.rooms[roomID]?.title() ?? "the room")",
            status: (texts.count == 1 ? "1 element" : "\(texts.count) elements")
                + (conflicts == 0 ? "" : ", \(conflicts) changed by others: /mine or /theirs"),
            paragraphs: texts,
            emptyText: liveBoard.isVerified
                ? "The board is empty." : liveBoard.failure?.localizedDescription ?? "Loading…",
            help: "Up and down scroll  Esc back", top: boardTop)
    }

    /// The number of board changes that the server has refused, in words; nil if there is none.
    private var unsaved: String? {
        let count = liveBoard?.items.count { if case .failed = $0.state { true } else { false } } ?? 0
        return count == 0 ? nil : "\(count) not saved: /board"
    }

    private func screen(of items: Slice<MessageItems>) -> RoomScreen {
        let room = client.rooms[roomID] ?? room
        var states = [room.elementCount == 1 ? "1 element" : "\(room.elementCount) elements", status.text()]
        if let unsaved { states.insert(unsaved, at: 0) }
        if !conversation.isVerified { states.insert("checking…", at: 0) }
        return RoomScreen(
            title: room.title(), status: states.joined(separator: ", "), entries: items.map(entry),
            typing: typing(in: room), notice: notice, input: input)
    }

    /// Notes that the last frame is on the screen. Its messages count as read after half a second.
    func noteShown() {
        if let drawn { conversation.setVisible(drawn) }
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
        if names.isEmpty { return conversation.failure?.localizedDescription ?? "" }
        return names.joined(separator: " and ") + (names.count == 1 ? " is typing…" : " are typing…")
    }

    // MARK: Keys

    /// Handles a key.
    ///
    /// - Returns: true if the person leaves the room.
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
        case .pageUp: scroll(by: size.rows / 2, in: size)
        case .up: scroll(by: 1, in: size)
        case .pageDown: scrollDown(by: size.rows / 2, in: size)
        case .down: scrollDown(by: 1, in: size)
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
            boardTop = nil
            return
        default: return
        }
        boardTop = min(max(shown.top, 0), last)
    }

    private func enter() {
        (isPlaced, offset) = (true, 0)
        if input.isCommand {
            let words = input.text.dropFirst().split(separator: " ", maxSplits: 1).map(String.init)
            // Spaces alone are not an argument.
            let argument = words.count > 1 ? words[1].trimmingCharacters(in: .whitespaces) : ""
            guard begin(words.first ?? "", argument) else {
                notice = "Unknown command. To send a slash, begin with //. \(Self.help)"
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
    /// True for a command, which begins with one slash. A text with two slashes is a message, sent with one of them.
    fileprivate var isCommand: Bool { characters.first == "/" && characters.dropFirst().first != "/" }
}
