import Foundation
import ParlorClient

// The commands that begin with a slash.
extension RoomController {
    /// Starts a command.
    ///
    /// - Returns: false if there is no such command.
    func begin(_ command: String, _ argument: String) -> Bool {
        switch command {
        case "help": prompt.notice = help
        case "read":
            prompt.run { [conversation] in
                try await conversation.markAllRead()
                return "All messages are marked as read."
            }
        case "note" where argument.isEmpty: prompt.notice = "/note TEXT"
        case "note":
            let isMade = openBoard().create(type: "note", content: ["text": .string(argument)]) != nil
            prompt.notice = isMade ? "The note is on the board." : "The room is gone."
        case "board":
            _ = openBoard()
            show(.board)
        case "edit" where argument.isEmpty:
            let last = conversation.items.last(where: \.isFailed)
            prompt.takeBack(last?.id) { [conversation] in await conversation.takeBack($0) }
        case "remove" where Int(argument) == nil: return beginWithPeople(command, argument)
        case "edit", "remove":
            let words = argument.split(separator: " ", maxSplits: 1).map(String.init)
            prompt.notice = changeElement(
                words.first.flatMap { Int($0) }, to: command == "edit" ? words.dropFirst().first ?? "" : nil)
        case "mine", "theirs":
            for conflict in openBoard().conflicts { openBoard().resolve(conflict.id, overwriting: command == "mine") }
            prompt.notice = ""
        case "name" where argument.isEmpty: prompt.notice = "/name NAME"
        case "name":
            prompt.run { [client, roomID] in
                try await client.rooms.rename(roomID, to: argument)
                return ""
            }
        case "retry": prompt.settle(failed) { [conversation] in await conversation.retry($0) }
        case "discard": prompt.settle(failed) { [conversation] in await conversation.discard($0) }
        case "clear":
            prompt.ask("Delete everything on the board?") {
                try await self.openBoard().clear()
                return "Everything on the board was deleted."
            }
        case "delete":
            guard let last = conversation.items.last(where: { $0.senderID == client.user.id && $0.message != nil })
            else {
                prompt.notice = "You have no message in this room."
                break
            }
            prompt.ask("Delete “\(last.text)”?") { [conversation] in
                try await conversation.delete(last.id)
                return "The message was deleted."
            }
        default: return beginWithPeople(command, argument)
        }
        return true
    }

    /// Changes or deletes an element of the board, and returns the notice to show.
    ///
    /// - Parameters:
    ///   - number: the element's number on the board that is shown.
    ///   - text: the new text; nil deletes the element.
    private func changeElement(_ number: Int?, to text: String?) -> String {
        let board = openBoard()
        guard let number, (1...max(1, board.items.count)).contains(number), !board.items.isEmpty else {
            return "There is no such number. /board shows the numbers."
        }
        let item = board.items[number - 1]
        // Numbers change with the board, so the notice has the element's text.
        let shown = item.element.content["text"]?.string ?? "[\(item.element.type)]"
        let name = shown.replacing("\n", with: " ").cut(to: 40)
        guard let text else {
            board.delete(item.id)
            return "Deleting “\(name)”."
        }
        guard !text.isEmpty, case .object(var members) = item.element.content else { return "/edit N TEXT" }
        guard item.element.isContentWhole else {
            return "Not changed: this program cannot read all of “\(name)”."
        }
        members["text"] = .string(text)
        board.edit(item.id, content: .object(members))
        return "Changing “\(name)”."
    }

    private func failed() -> [MessageItem.ID] {
        conversation.items.filter(\.isFailed).map(\.id)
    }
}
