import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@Suite("ScriptedServer: groups", .timeLimit(.minutes(1)))
struct ScriptedGroupTests {
    private let server = ScriptedServer(clock: TestClock())
    private let (ada, ben, cleo, dan): (Person, Person, Person, Person)
    private let groupID: String

    init() throws {
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        (cleo, dan) = (server.addPerson("cleo"), server.addPerson("dan"))
        groupID = try server.makeGroup(by: ada.id, with: [ben.id, cleo.id, ada.id, ben.id])
    }

    private func refused(_ code: String, status: Int, _ body: () throws -> Void) {
        let refusal = #expect(throws: Refusal.self) { try body() }
        #expect(refusal?.code == code && refusal?.status == status)
    }

    /// The group as somebody's list of rooms has it.
    private func room(of person: Person) async throws -> JSON? {
        let headers = ["Authorization": "Bearer \(try server.makeSession(of: person).token)"]
        let response = try await server.makeDevice().send(
            HTTPRequest("GET", "/api/rooms/my-rooms", headers: headers))
        let rooms = try JSONDecoder().decode(JSON.self, from: response.body)["data"]?.array
        return rooms?.first { $0["id"]?.string == groupID }
    }

    private func names(_ room: JSON?) -> [String]? {
        room?["participants"]?.array?.compactMap { $0["username"]?.string }
    }

    @Test("participants are in the order in which they came, and who comes back is last")
    func order() async throws {
        try server.addPeople([dan.id, ben.id], to: groupID, by: ada.id)
        #expect(names(try await room(of: ada)) == ["ada", "ben", "cleo", "dan"])
        try server.removePerson(ben.id, from: groupID, by: ada.id)
        try server.addPeople([ben.id], to: groupID, by: ada.id)
        let room = try await room(of: ada)
        #expect(names(room) == ["ada", "cleo", "dan", "ben"])
        #expect(room?["displayName"]?.string == "ada & cleo & dan +1")
        #expect(room?["participantCount"]?.integer == 4)
    }

    @Test("the one who has been there longest inherits a group without an owner")
    func heir() async throws {
        try server.removePerson(ada.id, from: groupID, by: ada.id)
        let roles = try await room(of: cleo)?["participants"]?.array?.compactMap { $0["role"]?.string }
        #expect(roles == ["owner", "member"])
        try server.addPeople([dan.id], to: groupID, by: ben.id)
    }

    @Test("the last one takes the room with them")
    func last() async throws {
        for person in [ada, ben, cleo] { try server.removePerson(person.id, from: groupID, by: person.id) }
        #expect(try await room(of: cleo) == nil)
        refused("room_not_found", status: 404) { try server.post("hello?", in: groupID, by: cleo.id) }
    }

    @Test("owners alone change a group, and nobody a direct room")
    func rights() throws {
        refused("forbidden", status: 403) { try server.addPeople([dan.id], to: groupID, by: ben.id) }
        refused("forbidden", status: 403) { try server.removePerson(cleo.id, from: groupID, by: ben.id) }
        refused("forbidden", status: 403) { try server.setRole(.owner, of: ben.id, in: groupID, by: ben.id) }
        refused("room_not_found", status: 404) { try server.addPeople([dan.id], to: groupID, by: dan.id) }
        refused("user_not_found", status: 404) { try server.addPeople([dan.id, "none"], to: groupID, by: ada.id) }
        refused("user_not_found", status: 404) { try server.removePerson(dan.id, from: groupID, by: ada.id) }
        refused("user_not_found", status: 404) { try server.setRole(.owner, of: dan.id, in: groupID, by: ada.id) }
        refused("invalid_field", status: 422) { try server.setRole(.member, of: ada.id, in: groupID, by: ada.id) }
        refused("invalid_field", status: 422) { try server.makeGroup(by: ada.id, with: [ada.id]) }
        let direct = try server.makeRoom(by: ada.id, with: ben.id)
        refused("direct_room", status: 409) { try server.addPeople([dan.id], to: direct, by: ada.id) }
        refused("direct_room", status: 409) { try server.removePerson(ada.id, from: direct, by: ada.id) }
        refused("direct_room", status: 409) { try server.setRole(.owner, of: ben.id, in: direct, by: ada.id) }
    }

    @Test("a group has at most 100 people, and a list shows the first ten and the person")
    func large() async throws {
        let others = (0..<98).map { server.addPerson("guest\($0)").id }
        try server.addPeople(Array(others.prefix(97)), to: groupID, by: ada.id)
        refused("invalid_field", status: 422) { try server.addPeople([others[97]], to: groupID, by: ada.id) }
        #expect(names(try await room(of: ada))?.count == 10)
        try server.removePerson(ben.id, from: groupID, by: ada.id)
        try server.addPeople([ben.id], to: groupID, by: ada.id)
        #expect(names(try await room(of: ben))?.suffix(2) == ["guest7", "ben"])
        #expect(try await room(of: ben)?["participantCount"]?.integer == 100)
    }

    @Test("what was sent before somebody came needs no reading")
    func badges() async throws {
        let id = try server.post("before", in: groupID, by: ada.id)
        try server.addPeople([dan.id], to: groupID, by: ada.id)
        #expect(try await room(of: dan)?["badges"]?["messages"]?.integer == 0)
        try server.markRead([id], in: groupID, by: dan.id)
        try server.post("after", in: groupID, by: ada.id)
        #expect(try await room(of: dan)?["badges"]?["messages"]?.integer == 1)
        #expect(try await room(of: ben)?["badges"]?["messages"]?.integer == 2)
    }

    @Test("in a room of more than 20 people, only the reader and the sender are notified of a reading")
    func narrowReceipts() async throws {
        try server.addPeople((0..<18).map { server.addPerson("guest\($0)").id }, to: groupID, by: ada.id)
        var clients: [ScriptedClient] = []
        for person in [ada, cleo] {
            let client = try await ScriptedClient(server.makeDevice(), as: person, on: server)
            try await client.emit("room:join", .object(["roomId": .string(groupID)]), ack: 0)
            while !(try await client.connection.receive()).hasPrefix("430") {}
            clients.append(client)
        }
        #expect(try await clients[0].event().name == "room:presence")
        let id = try server.post("one", in: groupID, by: ada.id)
        try server.markRead([id], in: groupID, by: ben.id)
        try server.post("two", in: groupID, by: ada.id)
        #expect(try await clients[0].names(3).filter { !$0.hasSuffix(":global") } == ["message:new", "messages:read"])
        #expect(try await clients[1].names(3).filter { !$0.hasSuffix(":global") } == ["message:new", "message:new"])
    }

    @Test("of a room that is no longer theirs, a person gets the removal alone")
    func replay() async throws {
        let phone = server.makeDevice()
        let headers = ["Authorization": "Bearer \(try server.makeSession(of: ben).token)"]
        func sync(_ query: [URLQueryItem] = []) async throws -> JSON? {
            let response = try await phone.send(HTTPRequest("GET", "/api/sync", query: query, headers: headers))
            return try JSONDecoder().decode(JSON.self, from: response.body)["data"]
        }
        let cursor = try await sync()?["cursor"]?.string
        try server.post("secret", in: groupID, by: ada.id)
        try server.removePerson(ben.id, from: groupID, by: ada.id)
        try server.post("later", in: groupID, by: ada.id)
        func events() async throws -> [String]? {
            try await sync([URLQueryItem(name: "since", value: cursor)])?["events"]?.array?.compactMap {
                $0["event"]?.string
            }
        }
        #expect(try await events() == ["room:removed"])
        try server.addPeople([ben.id], to: groupID, by: ada.id)
        #expect(
            try await events() == [
                "message:new", "participant:left", "room:removed", "message:new", "participant:joined", "room:created",
            ])
    }
}
