import Foundation
import ParlorClient

// The commands that change a group's people.
extension RoomController {
    /// Starts a command.
    ///
    /// - Returns: false if there is no such command.
    func beginWithPeople(_ command: String, _ argument: String) -> Bool {
        let names = argument.split(separator: " ").map { String($0.hasPrefix("@") ? $0.dropFirst() : $0) }
        switch command {
        case "people": show(.people)
        case "group" where names.isEmpty: prompt.notice = "/group NAMES"
        case "group":
            prompt.run { [client] in
                let room = try await client.rooms.groups.make(with: client.people(named: names).map(\.id))
                return "“\(room.title())” is in the list of rooms."
            }
        case "add" where names.isEmpty: prompt.notice = "/add NAMES"
        case "add":
            prompt.run { [client, roomID] in
                let people = try await client.people(named: names)
                try await client.rooms.groups.add(people.map(\.id), to: roomID)
                return "Added: \(people.map(\.displayName).joined(separator: ", "))"
            }
        case "remove", "owner":
            guard names.count == 1, let person = room.participants.first(where: { $0.username.isName(names[0]) }) else {
                prompt.notice = names.count == 1 ? "\(names[0]) is not in this room." : "/\(command) NAME"
                break
            }
            if command == "remove" { remove(person) } else { changeRole(of: person) }
        case "leave":
            prompt.ask("Leave “\(room.title())”?") { [client, roomID] in
                try await client.rooms.groups.leave(roomID)
                return ""
            }
        default: return false
        }
        return true
    }

    private func remove(_ person: Room.Participant) {
        prompt.ask("Remove \(person.displayName)?") { [client, roomID] in
            try await client.rooms.groups.remove(person.userID, from: roomID)
            return "\(person.displayName) was removed."
        }
    }

    private func changeRole(of person: Room.Participant) {
        let role: Room.Participant.Role = person.role == .owner ? .member : .owner
        prompt.ask("Make \(person.displayName) \(role == .owner ? "an owner" : "a member")?") { [client, roomID] in
            try await client.rooms.groups.setRole(role, of: person.userID, in: roomID)
            return ""
        }
    }

    /// The people of the room, one in a line.
    func people(from top: Int) -> TextScreen {
        TextScreen(
            title: "The people of \(room.title())",
            status: room.participantCount == 1 ? "1 person" : "\(room.participantCount) people",
            paragraphs: room.participants.map { person in
                let notes = [
                    person.userID == client.user.id ? "you" : "", person.role == .owner ? "owner" : "",
                    person.isPresent ? "here" : "",
                ]
                let name = person.displayName == person.username ? "" : "  @\(person.username)"
                return "\(person.displayName)\(name)  \(notes.filter { !$0.isEmpty }.joined(separator: ", "))"
            }, emptyText: "", help: Self.pageHelp, top: top)
    }
}

extension RoomsClient {
    private struct Unknown: LocalizedError {
        let name: String

        var errorDescription: String? { "Nobody is called \(name)." }
    }

    /// Returns the people with these usernames: of the rooms, or any others.
    fileprivate func people(named names: [String]) async throws -> [Person] {
        var found: [Person] = []
        for name in names {
            if let known = rooms.rooms.lazy.flatMap(\.participants).first(where: { $0.username.isName(name) }) {
                found.append(Person(id: known.userID, username: known.username, firstName: known.firstName))
            } else {
                let others = try await api.peopleWithoutRooms(matching: name, limit: 200).items
                guard let person = others.first(where: { $0.username.isName(name) }) else { throw Unknown(name: name) }
                found.append(person)
            }
        }
        return found
    }
}

extension String {
    /// Usernames are unique without regard to case.
    fileprivate func isName(_ name: String) -> Bool { lowercased() == name.lowercased() }
}
