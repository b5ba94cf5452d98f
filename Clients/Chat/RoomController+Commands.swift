import Foundation
import ParlorClient

// The commands that begin with a slash.
extension RoomController {
    /// Starts a command.
    ///
    /// - Returns: false if there is no such command.
    func begin(_ command: String, _ argument: String) -> Bool {
        switch command {
        case "help": notice = Self.help
        case "read":
            run { controller in
                try await controller.conversation.markAllRead()
                return "All messages are marked as read."
            }
        case "note" where argument.isEmpty: notice = "/note TEXT"
        case "note":
            openBoard().create(type: "note", content: ["text": .string(argument)])
            notice = "The note is on the board."
        case "board":
            _ = openBoard()
            (boardTop, notice) = (0, "")
        case "edit", "remove":
            let words = argument.split(separator: " ", maxSplits: 1).map(String.init)
            notice = changeElement(
                words.first.flatMap { Int($0) }, to: command == "edit" ? words.dropFirst().first ?? "" : nil)
        case "mine", "theirs":
            for conflict in openBoard().conflicts { openBoard().resolve(conflict.id, overwriting: command == "mine") }
            notice = ""
        case "name" where argument.isEmpty: notice = "/name NAME"
        case "name":
            run { controller in
                try await controller.client.rooms.rename(controller.roomID, to: argument)
                return ""
            }
        case "retry", "discard": run { await $0.settleFailed(command == "retry") }
        case "clear": ask(.clear, "Delete everything on the board?")
        case "delete":
            let last = conversation.items.last { $0.senderID == client.user.id && $0.message != nil }
            if let last { ask(.delete(messageID: last.id), "Delete “\(last.text)”?") }
            if last == nil { notice = "You have no message in this room." }
        default: return false
        }
        return true
    }

    func confirm(_ question: Question) {
        switch question {
        case .clear:
            run { controller in
                try await controller.openBoard().clear()
                return "Everything on the board was deleted."
            }
        case .delete(let messageID):
            run { controller in
                try await controller.conversation.delete(messageID)
                return "The message was deleted."
            }
        }
    }

    private func ask(_ question: Question, _ text: String) {
        asked = question
        notice = "\(text.replacing("\n", with: " ").cut(to: 50)) y: yes, any other key: no"
    }

    /// Runs a command when those before it have ended.
    ///
    /// - Parameter command: returns the notice to show.
    private func run(_ command: @escaping @MainActor (RoomController) async throws -> String) {
        notice = "…"
        running = Task { [previous = running] in
            await previous?.value
            do {
                notice = try await command(self)
            } catch {
                notice = error.localizedDescription
            }
        }
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

    private func settleFailed(_ isRetry: Bool) async -> String {
        let failed = conversation.items.filter { if case .failed = $0.state { true } else { false } }
        for item in failed {
            if isRetry { await conversation.retry(item.id) } else { await conversation.discard(item.id) }
        }
        return failed.isEmpty ? "Nothing has failed." : ""
    }
}
