import ParlorContracts
import ParlorGatewayCatalog
import ParlorJSON
import Testing

@testable import ParlorRoomViews

@Suite("A Room as one person sees it")
struct ComposedRoomTests {
    /// Returns a room of Ada and Bob with what two services add.
    private func room(
        _ id: String = "r", name: String? = nil, updatedAt: Int = 1_000_900, elementsAt: Int? = nil,
        messageAt: Int? = nil,
        messages: Int = 0, elements: Int = 0, present: Set<String> = [], unnamed: JSONValue = .null
    ) throws -> ComposedRoom {
        let base = JSONWriter.object { json in
            json.member("id", id)
            json.member("name", name)
            json.member("displayName", "Ada & Bob")
            json.member("createdBy", "ada")
            json.member("createdAt", 1_000_999)
            json.member("updatedAt", updatedAt)
            json.member(
                "participants",
                array: { json in
                    for person in ["ada", "bob"] {
                        json.object {
                            $0.member("userId", person)
                            $0.member("username", person)
                            $0.member("firstName", Optional<String>.none)
                            $0.member("joinedAt", 1_000_999)
                        }
                    }
                })
        }
        let null = JSONValue.null
        let contributed: [(Contribution.Field, JSONValue)] = [
            (.init("elementCount", zero: JSONValue(0)), JSONValue(7)),
            (.badge("elements"), JSONValue(elements)),
            (.init("updatedAt", .laterTime, zero: null), elementsAt.map { JSONValue($0) } ?? null),
            (
                .init("messagesUpdatedAt", .time, role: .activity(type: "message", sort: "messages"), zero: null),
                messageAt.map { JSONValue($0) } ?? null
            ),
            (.init("lastMessage", zero: null), try JSONValue(parsing: #"{"text":"h\u00e9","n":1.50}"#)),
            (.badge("messages"), JSONValue(messages)),
        ]
        return try #require(
            ComposedRoom(
                base: base.object, RoomFields(contributed.map(\.0)), values: contributed.map(\.1), present: present,
                unnamed: unnamed))
    }

    @Test("a room's times are cut to the second, except that of the last activity")
    func times() throws {
        let json = try room(updatedAt: 1_000_900, elementsAt: 1_001_999, messageAt: 1_001_998).json
        #expect(json["createdAt"]?.string == "1970-01-01T00:16:40Z")
        #expect(json["updatedAt"]?.string == "1970-01-01T00:16:41Z")
        #expect(json["messagesUpdatedAt"]?.string == "1970-01-01T00:16:41Z")
        #expect(json["lastActivityAt"]?.string == "1970-01-01T00:16:41.999Z")
        #expect(json["participants"]?.array?.first?["joinedAt"]?.string == "1970-01-01T00:16:40Z")
    }

    @Test(
        "the last activity is a message only if it is the later one, to the millisecond",
        arguments: [(nil, "roomUpdate"), (1_000_899, "roomUpdate"), (1_000_900, "roomUpdate"), (1_000_901, "message")])
    func lastActivity(messageAt: Int?, type: String) throws {
        let json = try room(messageAt: messageAt).json
        #expect(json["lastActivityType"]?.string == type)
        #expect(json["messagesUpdatedAt"]?.isNull == (messageAt == nil))
    }

    @Test("another service's earlier time does not set the room's back")
    func laterTime() throws {
        #expect(try room(updatedAt: 5000, elementsAt: 4000).updatedAt == 5000)
        #expect(try room(updatedAt: 5000, elementsAt: 6000).updatedAt == 6000)
        #expect(try room(updatedAt: 5000).updatedAt == 5000)
    }

    @Test("badges are composed together, and any of them counts as unread")
    func badges() throws {
        let none = try room().json
        #expect(none["badges"]?["messages"]?.int == 0 && none["badges"]?["elements"]?.int == 0)
        #expect(none["hasUnread"]?.bool == false)
        #expect(try room(messages: 2).json["hasUnread"]?.bool == true)
        let elements = try room(elements: 1).json
        #expect(elements["hasUnread"]?.bool == true && elements["badges"]?["elements"]?.int == 1)
        #expect(elements["badges.elements"] == nil && elements["badges"]?.object?.names.count == 2)
    }

    @Test("passed-through values stay as written")
    func values() throws {
        let json = try room().json
        #expect(json["lastMessage"]?.text == #"{"text":"h\u00e9","n":1.50}"#)
        #expect(json["elementCount"]?.int == 7)
    }

    @Test("a person with the room open is present, and makes it active")
    func presence() throws {
        let empty = try room().json
        #expect(empty["isActive"]?.bool == false)
        #expect(empty["participants"]?.array?.map { $0["isPresent"]?.bool } == [false, false])
        let open = try room(present: ["bob"]).json
        #expect(open["isActive"]?.bool == true)
        #expect(open["participants"]?.array?.map { $0["isPresent"]?.bool } == [false, true])
    }

    @Test("an unnamed room has the name that the list wants")
    func unnamed() throws {
        #expect(try room().json["name"]?.isNull == true)
        #expect(try room(unnamed: JSONValue("")).json["name"]?.string == "")
        #expect(try room(name: "Garden", unnamed: JSONValue("")).json["name"]?.string == "Garden")
    }

    @Test(
        "a value that is not a room is refused",
        arguments: ["1", "{}", #"{"id":"r"}"#, #"{"id":"r","createdAt":1,"updatedAt":1}"#])
    func noRoom(text: String) throws {
        let base = try JSONValue(parsing: text)
        #expect(ComposedRoom(base: base.object, RoomFields([]), values: [], present: [], unnamed: .null) == nil)
    }

    @Test("lists are sorted by activity, messages or content; equal rooms, newest first")
    func sorting() throws {
        let rooms = [
            try room("1", updatedAt: 100, messageAt: 900), try room("2", updatedAt: 500),
            try room("3", updatedAt: 500), try room("4", updatedAt: 300, messageAt: 400),
        ]
        #expect(ComposedRoom.sorted(rooms, by: .activity).map(\.id) == ["1", "3", "2", "4"])
        #expect(ComposedRoom.sorted(rooms, by: .time(0)).map(\.id) == ["1", "4", "3", "2"])
        #expect(ComposedRoom.sorted(rooms, by: .content).map(\.id) == ["3", "2", "4", "1"])
    }

    @Test("the gateway and the services agree on the sort orders")
    func sorts() throws {
        let manifest = Manifest(
            service: "chat",
            contribution: Contribution(
                subject: "chat.contribute",
                fields: [.init("sentAt", .time, role: .activity(type: "line", sort: "lines"), zero: .null)]))
        let catalog = Catalog(required: []).adding(manifest)
        #expect(try RoomSort("activity", in: catalog) == .activity)
        #expect(try RoomSort("content", in: catalog) == .content)
        #expect(try RoomSort("lines", in: catalog) == .of("lines"))
        #expect(throws: ServiceError.invalid("sort", "has to be activity, lines or content")) {
            try RoomSort("messages", in: catalog)
        }
        let partial = Catalog(required: ["chat", "other"]).adding(manifest)
        #expect(try RoomSort("lines", in: partial) == .of("lines"))
        #expect(throws: ServiceError.unavailable("This order of rooms")) { try RoomSort("messages", in: partial) }
    }

    @Test("participants are as the rooms service knows them, with the time as text, their presence, and a role")
    func participants() throws {
        let people = try [
            #"{"userId":"ada","firstName":"A\"a","joinedAt":1000,"role":"owner"}"#,
            #"{"joinedAt":2000,"userId":"bob"}"#,
        ].map { try JSONValue(parsing: $0) }
        let withRoles = ComposedRoom.participants([people[0]], present: ["ada"])
        #expect(
            withRoles.text
                == #"[{"userId":"ada","firstName":"A\"a","joinedAt":"1970-01-01T00:00:01Z","role":"owner","isPresent":true}]"#
        )
        let older = ComposedRoom.participants([.null, people[1]], haveRoles: false, present: ["ada"])
        #expect(
            older.text == #"[{"joinedAt":"1970-01-01T00:00:02Z","userId":"bob","role":"member","isPresent":false}]"#)
        #expect(ComposedRoom.participants([], present: []) == .emptyArray)
        let both = ComposedRoom.participants(people, present: [])
        #expect(both.array?.map { $0["userId"]?.string } == ["ada", "bob"])
    }

    @Test("people are listed with the shared rooms, by activity, without the viewer and strangers")
    func grouped() throws {
        func person(_ id: String) -> JSONValue { JSONWriter.object { $0.member("id", id) } }
        let rooms = [
            try room("1", updatedAt: 100, messageAt: 900), try room("2", updatedAt: 500),
            try Self.shared("3", with: "cy", updatedAt: 700),
        ]
        let people = [person("cy"), person("ada"), person("bob"), person("stranger")]
        let groups = ComposedRoom.groupedByPerson(rooms, people: people, viewer: "ada")
        #expect(groups.array?.map { $0["id"]?.string } == ["bob", "cy"])
        #expect(groups.array?.map { $0["rooms"]?.array?.map { $0["id"]?.string } } == [["2", "1"], ["3"]])
    }

    private static func shared(_ id: String, with other: String, updatedAt: Int) throws -> ComposedRoom {
        let base = try JSONValue(
            parsing: """
                {"id":"\(id)","createdAt":1,"updatedAt":\(updatedAt),"participants":[
                {"userId":"ada","joinedAt":1},{"userId":"\(other)","joinedAt":1}]}
                """)
        return try #require(ComposedRoom(base: base.object, RoomFields([]), values: [], present: [], unnamed: .null))
    }
}
