import Foundation
import Observation
import ParlorClient

/// One room: its messages, its input line, and the commands that begin with a slash.
@MainActor @Observable
final class RoomController {
    /// What is shown in place of the messages.
    enum Page {
        case board, people
    }

    let roomID: String
    var conversation: Conversation { opened.conversation }
    @ObservationIgnored private let opened: OpenRoom
    @ObservationIgnored let client: RoomsClient
    @ObservationIgnored private let status: StatusLine
    /// The room when it was opened, for when it is gone.
    @ObservationIgnored private let openedRoom: Room
    @ObservationIgnored private let view = MessageView<MessageItems>()
    @ObservationIgnored let prompt = ChatPrompt()
    /// True once the view no longer goes to the first unread message by itself. It has done so, the room has loaded
    /// without one, or the person has scrolled or pressed Enter.
    @ObservationIgnored private var isPlaced = false
    /// The page that is shown, and its first visible line; nil while the messages are shown.
    private var shown: (page: Page, top: Int)?
    /// The board, once it was used.
    @ObservationIgnored private(set) var liveBoard: Board?

    static let pageHelp = "Up and down scroll  Esc back"

    var help: String {
        let people = room.kind == .group ? "/add NAMES  /remove NAME  /owner NAME  /leave  " : ""
        return
            "/read  /note TEXT  /board  /edit N TEXT  /remove N  /clear  /name NAME  /people  /group NAMES  \(people)"
            + "/delete  /retry  /edit  /discard  PgUp older  Esc back"
    }

    init(_ room: Room, _ client: RoomsClient, _ status: StatusLine) {
        self.status = status
        openedRoom = room
        self.client = client
        roomID = room.id
        opened = client.open(room)
        prompt.write(client.drafts[room.id])
    }

    // MARK: What is shown

    var room: Room { client.rooms[roomID] ?? openedRoom }

    func show(_ page: Page) { (shown, prompt.notice) = ((page, 0), "") }

    func frame(in size: WindowSize) -> Frame {
        if let page {
            view.hide()
            return page.frame(in: size)
        }
        placeAtFirstUnread(in: size)
        return view.frame(of: conversation.items, in: size, as: screen)
    }

    /// Scrolls to the first unread message when the room has loaded. Messages that arrive later do not move the view.
    private func placeAtFirstUnread(in size: WindowSize) {
        guard !isPlaced, conversation.isVerified || conversation.firstUnread != nil else { return }
        isPlaced = true
        if let first = conversation.firstUnread { view.show(first, of: conversation.items, in: size, as: screen) }
    }

    /// Scrolls up. At the top, older messages are fetched.
    private func scroll(by lines: Int, in size: WindowSize) {
        isPlaced = true
        guard view.scrollUp(by: lines, of: conversation.items, in: size, as: screen) else { return }
        Task { await conversation.loadOlder() }
    }

    private func scrollDown(by lines: Int, in size: WindowSize) {
        isPlaced = true
        view.scrollDown(by: lines, of: conversation.items, in: size, as: screen)
    }

    // MARK: The board

    /// Opens the board, unless it is open already. Events keep it up to date until the room is left.
    func openBoard() -> Board {
        let board = opened.board
        if liveBoard == nil { liveBoard = board }
        return board
    }

    func close() async {
        await opened.closeAndKeep()
    }

    private var page: TextScreen? {
        switch shown?.page {
        case .board: liveBoard.map { text(of: $0, from: shown?.top ?? 0) }
        case .people: people(from: shown?.top ?? 0)
        case nil: nil
        }
    }

    private func text(of liveBoard: Board, from top: Int) -> TextScreen {
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
            title: "The board of \(room.title())",
            status: (texts.count == 1 ? "1 element" : "\(texts.count) elements")
                + (conflicts == 0 ? "" : ", \(conflicts) changed or deleted by others: /mine or /theirs"),
            paragraphs: texts,
            emptyText: liveBoard.isVerified
                ? "The board is empty." : liveBoard.failure?.localizedDescription ?? "Loading…",
            help: Self.pageHelp, top: top)
    }

    /// The number of board changes that the server has refused, in words; nil if there is none.
    private var unsaved: String? {
        let count = liveBoard?.items.count { if case .failed = $0.state { true } else { false } } ?? 0
        return count == 0 ? nil : "\(count) not saved: /board"
    }

    private func screen(of items: Slice<MessageItems>) -> RoomScreen {
        let room = room
        var states = [room.elementCount == 1 ? "1 element" : "\(room.elementCount) elements", status.text()]
        if let unsaved { states.insert(unsaved, at: 0) }
        if !conversation.isVerified { states.insert("checking…", at: 0) }
        return RoomScreen(
            title: room.title(), status: states.joined(separator: ", "),
            entries: items.indices.map { entry(of: items[$0], after: $0 > 0 ? items.base[$0 - 1] : nil) },
            typing: prompt.needsNotice ? "" : typing(in: room), notice: prompt.notice, input: prompt.input)
    }

    /// Notes that the last frame is on the screen. Its messages count as read after half a second.
    func noteShown() {
        if let drawn = view.drawn { conversation.setVisible(drawn) }
    }

    private func entry(of item: MessageItem, after previous: MessageItem?) -> RoomScreen.Entry {
        let isMine = item.senderID == client.user.id
        let sender = room.participants.first { $0.userID == item.senderID }?.displayName
        // Who has left the room is no participant.
        let author = isMine ? "You" : sender ?? item.message?.sender?.displayName ?? "Somebody"
        return RoomScreen.Entry(item, after: previous, by: author, isMine: isMine)
    }

    private func typing(in room: Room) -> String {
        let names = conversation.typistIDs.compactMap { id in
            room.participants.first { $0.userID == id }?.displayName
        }
        if names.isEmpty { return conversation.failure?.localizedDescription ?? "" }
        return names.joined(separator: " and ") + (names.count == 1 ? " is typing…" : " are typing…")
    }

    // MARK: Keys

    /// Handles a key.
    ///
    /// - Returns: true if the person leaves the room.
    func press(_ key: Key, in size: WindowSize) -> Bool {
        if page != nil {
            scrollPage(key, in: size)
            return false
        }
        if prompt.answer(key) { return false }
        defer { client.drafts[roomID] = prompt.isMessage ? prompt.input.text : "" }
        switch key {
        case .escape: return true
        case .enter: enter()
        case .pageUp: scroll(by: size.rows / 2, in: size)
        case .up: scroll(by: 1, in: size)
        case .pageDown: scrollDown(by: size.rows / 2, in: size)
        case .down: scrollDown(by: 1, in: size)
        default:
            guard prompt.press(key) else { break }
            if prompt.isMessage { conversation.typed() } else { conversation.stoppedTyping() }
        }
        return false
    }

    private func scrollPage(_ key: Key, in size: WindowSize) {
        guard var text = page else { return }
        let last = text.lastTop(in: size)
        switch key {
        case .up: text.top -= 1
        case .down: text.top += 1
        case .pageUp: text.top -= TextScreen.height(in: size)
        case .pageDown: text.top += TextScreen.height(in: size)
        case .escape, .enter, .character("q"):
            shown = nil
            return
        default: return
        }
        shown?.top = min(max(text.top, 0), last)
    }

    private func enter() {
        isPlaced = true
        view.showNewest()
        prompt.enter(help: help, begin: begin) { conversation.send($0) != nil }
    }
}
