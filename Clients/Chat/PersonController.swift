import Foundation
import ParlorClient

/// The chat with one person over all rooms that the two share alone.
@MainActor
final class PersonController {
    let person: Person
    private let chat: PersonConversation
    private let client: RoomsClient
    private let status: StatusLine
    private let view = MessageView<[PersonConversation.Item]>()
    private let prompt = ChatPrompt()

    private static let help = "/to NAME  /read  /delete  /retry  /edit  /discard  PgUp older  Esc back"

    init(_ person: Person, _ client: RoomsClient, _ status: StatusLine) {
        self.person = person
        self.client = client
        self.status = status
        chat = client.openConversation(with: person)
    }

    /// Returns when the commands have ended, and the messages are cached.
    func close() async {
        await prompt.finish()
        await chat.close()
    }

    // MARK: What is shown

    func frame(in size: WindowSize) -> Frame { view.frame(of: chat.items, in: size, as: screen) }

    /// Notes that the last frame is on the screen. Its messages count as read after half a second.
    func noteShown() {
        if let drawn = view.drawn { chat.setVisible(drawn) }
    }

    private func screen(of items: ArraySlice<PersonConversation.Item>) -> RoomScreen {
        // With one room, nobody needs its name.
        let shown = chat.rooms.count > 1 ? Set(items.map(\.roomID) + [chat.targetRoomID ?? ""]) : []
        let rooms = chat.rooms.filter { shown.contains($0.id) }
        let names = Dictionary(rooms.map { ($0.id, name(of: $0)) }, uniquingKeysWith: { first, _ in first })
        var states = [chat.rooms.count == 1 ? "1 room" : "\(chat.rooms.count) rooms", status.text()]
        if !chat.isVerified { states.insert("checking…", at: 0) }
        let all = chat.items
        return RoomScreen(
            title: person.displayName, status: states.joined(separator: ", "),
            entries: items.indices.map { entry(items[$0], after: $0 > 0 ? all[$0 - 1] : nil, in: names) },
            typing: prompt.needsNotice ? "" : typing, notice: prompt.notice, input: prompt.input,
            target: chat.targetRoomID.flatMap { names[$0] })
    }

    private func entry(
        _ shown: PersonConversation.Item, after previous: PersonConversation.Item?, in names: [String: String]
    ) -> RoomScreen.Entry {
        let isMine = shown.item.senderID == client.user.id
        let author = isMine ? "You" : person.displayName
        let place = names[shown.roomID].map { "\(author), \($0)" } ?? author
        return RoomScreen.Entry(shown.item, after: previous?.item, by: place, isMine: isMine)
    }

    /// The name of a room; of one without a name, when it was created.
    private func name(of room: Room) -> String {
        let name = room.name?.trimmingCharacters(in: .whitespaces) ?? ""
        return name.isEmpty ? room.createdAt.formatted(date: .numeric, time: .shortened) : name
    }

    private var typing: String {
        chat.isTyping ? "\(person.displayName) is typing…" : chat.failure?.localizedDescription ?? ""
    }

    // MARK: Keys

    /// Handles a key.
    ///
    /// - Returns: true if the person leaves the chat.
    func press(_ key: Key, in size: WindowSize) -> Bool {
        if prompt.answer(key) { return false }
        switch key {
        case .escape:
            chat.stoppedTyping()
            return true
        case .enter where prompt.isMessage && chat.targetRoomID == nil:
            prompt.notice = "You share no room alone with this person."
        case .enter:
            view.showNewest()
            prompt.enter(help: Self.help, begin: begin) { chat.send($0) != nil }
        case .pageUp: scroll(by: size.rows / 2, in: size)
        case .up: scroll(by: 1, in: size)
        case .pageDown: view.scrollDown(by: size.rows / 2, of: chat.items, in: size, as: screen)
        case .down: view.scrollDown(by: 1, of: chat.items, in: size, as: screen)
        default:
            guard prompt.press(key) else { break }
            if prompt.isMessage { chat.typed() } else { chat.stoppedTyping() }
        }
        return false
    }

    private func scroll(by lines: Int, in size: WindowSize) {
        guard view.scrollUp(by: lines, of: chat.items, in: size, as: screen) else { return }
        Task { await chat.loadOlder() }
    }

    // MARK: Commands

    /// Starts a command.
    ///
    /// - Returns: false if there is no such command.
    private func begin(_ command: String, _ argument: String) -> Bool {
        switch command {
        case "help": prompt.notice = Self.help
        case "to": prompt.notice = choose(argument)
        case "read":
            prompt.run { [chat] in
                try await chat.markAllRead()
                return "All messages are marked as read."
            }
        case "retry": prompt.settle(failed) { [chat] in await chat.retry($0) }
        case "discard": prompt.settle(failed) { [chat] in await chat.discard($0) }
        case "edit":
            let last = chat.items.last { $0.item.isFailed }
            prompt.takeBack(last?.id) { [chat] in await chat.takeBack($0) }
        case "delete":
            let last = chat.items.last { $0.item.senderID == client.user.id && $0.item.message != nil }
            guard let last else {
                prompt.notice = "You have no message here."
                break
            }
            prompt.ask("Delete “\(last.item.text)”?") { [chat] in
                try await chat.delete(last.id)
                return "The message was deleted."
            }
        default: return false
        }
        return true
    }

    /// Chooses the room for messages by the beginning of its name, and returns the notice to show. Without a name, that
    /// is the room of the latest message again.
    private func choose(_ beginning: String) -> String {
        guard !beginning.isEmpty else {
            chat.chosenRoomID = nil
            return "Rooms: \(chat.rooms.map(name).joined(separator: "; ")). Messages go to the latest one."
        }
        let exact = chat.rooms.filter { name(of: $0).compare(beginning, options: .caseInsensitive) == .orderedSame }
        let found =
            exact.isEmpty
            ? chat.rooms.filter { name(of: $0).range(of: beginning, options: [.anchored, .caseInsensitive]) != nil }
            : exact
        guard let room = found.first, found.count == 1 else {
            return found.isEmpty ? "No room begins with “\(beginning)”." : "Several rooms begin with “\(beginning)”."
        }
        chat.chosenRoomID = room.id
        return ""
    }

    private func failed() -> [PersonConversation.Item.ID] {
        chat.items.filter(\.item.isFailed).map(\.id)
    }
}
