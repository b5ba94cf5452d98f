import Foundation
import Observation
import ParlorClient

/// The lists: rooms, people with their shared rooms, and people to start a room with. The last list has people with
/// shared rooms first, and then everyone else.
///
/// Requests run in the background, so keys never wait. The notice shows their outcome.
@MainActor @Observable
final class RoomsController {
    enum Step {
        case stay, quit
        case open(Room)
        case openChat(Person)
    }

    private enum Shown {
        case rooms, people, partners
    }

    fileprivate enum Question {
        case name(roomID: String)
        case newRoom(Person)
        case search
    }

    /// What Enter opens or starts on a row.
    private enum Choice {
        case room(Room)
        /// The chat with a person over all shared rooms.
        case chat(Person)
        /// A new room with a person.
        case partner(Person)
    }

    /// The next page is fetched when the selection is this close to the last row.
    private static let ahead = 20

    @ObservationIgnored private let client: RoomsClient
    @ObservationIgnored private let status: StatusLine
    private var shown = Shown.rooms {
        didSet { if oldValue == .partners, shown != .partners { client.rooms.peopleWithoutRooms.endSearch() } }
    }
    /// The id of the selected row, so that the selection stays when the order changes.
    private var selectedID: String?
    private var question: (Question, LineEditor)?
    /// The search text: the beginning of a name.
    private var searched = ""
    private var notice = ""

    /// - Parameter isGrouped: whether people with their rooms are shown first, and not all rooms.
    init(_ client: RoomsClient, _ status: StatusLine, selecting id: String? = nil, isGrouped: Bool = false) {
        self.client = client
        self.status = status
        shown = isGrouped ? .people : .rooms
        selectedID = id
    }

    /// True while people are shown with their rooms.
    var isGrouped: Bool { shown == .people }

    // MARK: What is shown

    var screen: ListScreen {
        let rows = rows
        return ListScreen(
            title: title, status: notice.isEmpty ? status.text(with: failure) : notice, rows: rows.map(\.row),
            selection: selection(in: rows), emptyText: emptyText, help: help,
            question: question.map { ($0.0.prompt, $0.1) })
    }

    private var title: String {
        switch shown {
        case .rooms: "Rooms of \(client.user.displayName), by \(client.rooms.order.rawValue)"
        case .people: "People"
        case .partners: "Start a room with"
        }
    }

    private var help: String {
        switch shown {
        case .rooms: "Enter open  + new  n name  s sort  p people  r reload  q quit"
        case .people: "Enter open the room, or the chat with the person  n name  p rooms  q quit"
        case .partners: "Enter start  type a name to search  Esc back"
        }
    }

    private var failure: ClientFailure? {
        shown == .partners ? client.rooms.peopleWithoutRooms.failure : client.rooms.failure
    }

    private var emptyText: String {
        if let failure { return failure.localizedDescription }
        if shown == .partners { return "Nobody found." }
        return client.rooms.isLoaded ? "No rooms yet. Press + to start one." : "Loading…"
    }

    private var rows: [(id: String, row: ListScreen.Row, choice: Choice)] {
        switch shown {
        case .rooms: client.rooms.rooms.map(row)
        case .people:
            client.rooms.people.flatMap { entry in
                [(entry.id, ListScreen.Row(kind: .heading, title: entry.person.displayName), Choice.chat(entry.person))]
                    + entry.rooms.map(row)
            }
        case .partners:
            knownPartners.map { row(of: $0.person, rooms: $0.rooms.count) }
                + client.rooms.peopleWithoutRooms.people.map { row(of: $0, rooms: 0) }
        }
    }

    private var knownPartners: [PersonWithRooms] {
        client.rooms.people.filter { entry in
            [entry.person.username, entry.person.firstName ?? ""].contains { name in
                searched.isEmpty || name.range(of: searched, options: [.anchored, .caseInsensitive]) != nil
            }
        }
    }

    private func row(of person: Person, rooms: Int) -> (id: String, row: ListScreen.Row, choice: Choice) {
        let shared = rooms == 0 ? "" : rooms == 1 ? ", 1 room" : ", \(rooms) rooms"
        let row = ListScreen.Row(title: person.displayName, detail: "@\(person.username)\(shared)")
        return (person.id, row, .partner(person))
    }

    private func row(of room: Room) -> (id: String, row: ListScreen.Row, choice: Choice) {
        let time = RelativeTime(of: room.lastActivityDate, now: Date(), calendar: .current)
        let isUnnamed = (room.name ?? "").allSatisfy(\.isWhitespace)
        // Unnamed rooms of the same people have the same title.
        let created = room.createdAt.formatted(date: .numeric, time: .shortened)
        let row = ListScreen.Row(
            title: room.title(), distinction: isUnnamed ? "created \(created)" : "", detail: detail(of: room),
            badge: BadgeText.text(room.badges.messages + room.badges.elements) ?? "",
            warning: client.rooms.failedRoomIDs.contains(room.id) ? "! not sent" : "",
            others: room.badges.others.sorted { $0.key < $1.key }.compactMap { name, count in
                BadgeText.text(count).map { "\(name) \($0)" }
            }.joined(separator: ", "),
            activity: room.lastActivityType == .message ? "✉" : "✎",
            time: time.text { $0.formatted(date: .numeric, time: .omitted) })
        return (room.id, row, .room(room))
    }

    private func detail(of room: Room) -> String {
        var others = room.participants.filter { $0.userID != client.user.id }.map(\.displayName)
        let rest = room.participantCount - 3
        // The number of those who have no place stays with the last name: “Ben, Carol +4”.
        if rest > 1, others.count > 2 { others = [others[0], "\(others[1]) +\(rest)"] }
        let elements = room.elementCount == 1 ? "1 element" : "\(room.elementCount) elements"
        let last = room.lastMessage.map { ": \($0.text.replacing("\n", with: " "))" } ?? ""
        return (others + [elements]).joined(separator: ", ") + last
    }

    /// Returns the index of the selected row, or of the first room or person to choose.
    private func selection(in rows: [(id: String, row: ListScreen.Row, choice: Choice)]) -> Int {
        rows.firstIndex { $0.id == selectedID } ?? rows.firstIndex { $0.row.kind == .choice } ?? 0
    }

    // MARK: Keys

    func press(_ key: Key) -> Step {
        notice = ""
        if question != nil {
            answer(key)
            return .stay
        }
        switch key {
        case .up: move(by: -1)
        case .down: move(by: 1)
        case .pageUp: move(by: -10)
        case .pageDown: move(by: 10)
        case .enter: return choose()
        case .escape:
            if shown == .rooms { return .quit }
            shown = .rooms
        case .character("/") where shown == .partners: question = (.search, LineEditor())
        case .character where shown == .partners, .paste where shown == .partners:
            var name = LineEditor()
            name.press(key)
            question = (.search, name)
        case .character("q"): return .quit
        case .character("r"):
            Task {
                await status.connectAgain()
                await client.rooms.refresh()
            }
        case .character("s") where shown == .rooms: client.rooms.order = client.rooms.order.next
        case .character("p"): shown = shown == .people ? .rooms : .people
        case .character("+"):
            (shown, searched, selectedID) = (.partners, "", nil)
            Task { await client.rooms.peopleWithoutRooms.search("") }
        case .character("n"):
            if case .room(let room) = selected { question = (.name(roomID: room.id), LineEditor()) }
        default: break
        }
        return .stay
    }

    private var selected: Choice? {
        let rows = rows
        return rows.isEmpty ? nil : rows[selection(in: rows)].choice
    }

    private func move(by distance: Int) {
        let rows = rows
        guard !rows.isEmpty else { return }
        let index = min(max(selection(in: rows) + distance, 0), rows.count - 1)
        selectedID = rows[index].id
        if shown == .partners, index + Self.ahead >= rows.count {
            Task { await client.rooms.peopleWithoutRooms.loadMore() }
        }
    }

    private func choose() -> Step {
        switch selected {
        case .room(let room): return .open(room)
        case .chat(let person): return .openChat(person)
        case .partner(let person): question = (.newRoom(person), LineEditor())
        case nil: break
        }
        return .stay
    }

    private func answer(_ key: Key) {
        guard let (asked, typed) = question else { return }
        var editor = typed
        switch key {
        case .escape: question = nil
        case .enter:
            question = nil
            notice = "…"
            Task { notice = await carryOut(asked, typed.text.replacing("\n", with: " ")) }
        default:
            editor.press(key)
            question = (asked, editor)
        }
    }

    /// Does what the person entered, and returns the notice to show.
    private func carryOut(_ asked: Question, _ text: String) async -> String {
        do {
            switch asked {
            case .name(let roomID): try await client.rooms.rename(roomID, to: text)
            case .newRoom(let person):
                let room = try await client.rooms.makeRoom(with: person.id, name: text.isEmpty ? nil : text)
                shown = .rooms
                selectedID = room.id
            case .search:
                searched = text
                await client.rooms.peopleWithoutRooms.search(text)
            }
            return ""
        } catch {
            return error.localizedDescription
        }
    }
}

extension RoomsController.Question {
    fileprivate var prompt: String {
        switch self {
        case .name: "Name (empty to remove it): "
        case .newRoom(let person): "A room with \(person.displayName). Its name (optional): "
        case .search: "Name begins with: "
        }
    }
}

extension RoomOrder {
    fileprivate var next: RoomOrder {
        switch self {
        case .activity: .messages
        case .messages: .content
        case .content: .activity
        }
    }
}
