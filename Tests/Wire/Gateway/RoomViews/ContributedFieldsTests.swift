import GatewayTesting
import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import Synchronization
import Testing

@Suite("Services' fields of messages and people", .timeLimit(.minutes(1)))
struct ContributedFieldsTests {
    private static let talk = Manifest(
        service: "talk",
        routes: [
            Route("GET", "/api/talk", "talk.list", shows: .messages),
            Route("GET", "/api/talkers", "talk.people", shows: .people),
            Route("GET", "/api/plain", "talk.list"),
        ])
    private static let page = #"[{"id":"m1","text":"a"},{"id":"m2","text":"b"},7]"#

    /// What the stars service is asked, and answers: as many stars as a message's id has been asked for.
    private final class Stars: Sendable {
        let service: FakeService
        let asked = Mutex<[[String]]>([])
        private let count = Mutex(0)

        init(on bus: any MessageBus, isLogged: Bool = true) throws {
            var manifest = Manifest(service: "stars", hasEventLog: isLogged, logsWhatRoomsShow: isLogged)
            manifest.objectContributions = [
                .messages: Contribution(
                    subject: "stars.messages",
                    fields: [.init("stars", zero: JSONValue(0)), .init("starredAt", .time, zero: .null)]),
                .people: Contribution(subject: "stars.people", fields: [.init("stars", zero: JSONValue(0))]),
            ]
            service = try FakeService.start(manifest, on: bus)
            for (subject, kind) in [("stars.messages", ShownObject.messages), ("stars.people", .people)] {
                service.on(subject) { [self] in answer($0, kind) }
            }
        }

        private func answer(_ request: BusRequest, _ kind: ShownObject) {
            let ids = request.data[kind.ids]?.array?.compactMap(\.string) ?? []
            asked.withLock { $0.append([request.data["userId"]?.string ?? ""] + ids) }
            let number = count.withLock { count in
                count += 1
                return count
            }
            let data = JSONWriter.object {
                $0.name(kind.rawValue)
                $0.array(of: ids) { json, id in
                    if id == "m2" { return json.null() }
                    json.array {
                        $0.number(number)
                        if kind == .messages { $0.number(1_000) }
                    }
                }
            }
            request.reply(Reply(.ok, data).json)
        }

        /// Returns the requests since the last call: the viewer and the ids of each.
        func questions() -> [[String]] {
            asked.withLock { asked in
                defer { asked = [] }
                return asked
            }
        }
    }

    private func run(
        isLogged: Bool = true, _ test: (GatewayHarness, FakeService, Stars) async throws -> Void
    ) async throws {
        try await GatewayHarness.run { harness in
            let talk = try FakeService.start(Self.talk, on: harness.bus)
            talk.on("talk.list", reply: Reply.page(try JSONValue(parsing: Self.page), next: "n"))
            let stars = try Stars(on: harness.bus, isLogged: isLogged)
            try await test(harness, talk, stars)
            for service in [talk, stars.service] { service.stop() }
        }
    }

    private func list(_ harness: GatewayHarness, _ path: String = "/api/talk") async throws -> String {
        try await harness.request("GET", path).body
    }

    @Test("each message of a page has the fields of a service that was asked once; what is no message stays as it is")
    func fields() async throws {
        try await run { harness, _, stars in
            let full = #"""
                {"data":[{"id":"m1","text":"a","stars":1,"starredAt":"1970-01-01T00:00:01.000Z"},\#
                {"id":"m2","text":"b","stars":0,"starredAt":null},7],"page":{"next":"n"}}
                """#
            let page = try await list(harness)
            #expect(page == full)
            #expect(stars.questions() == [["ada", "m1", "m2"]])
            // A route that does not say that it shows messages is passed on unchanged.
            let plain = #"{"data":\#(Self.page),"page":{"next":"n"}}"#
            #expect(try await list(harness, "/api/plain") == plain)
            #expect(stars.questions() == [])
        }
    }

    @Test("values that are far too long are not shown: their object has the zeros, and others have their values")
    func longValues() async throws {
        try await run { harness, _, stars in
            let text = String(repeating: "x", count: 20_000)
            let long = try JSONValue(parsing: #"{"status":200,"data":{"messages":[["\#(text)",1],[4,1]]}}"#)
            stars.service.on("stars.messages") { $0.reply(long) }
            let page = try await list(harness)
            #expect(page.contains(#""stars":0"#) && page.contains(#""stars":4"#) && !page.contains("xxx"))
            #expect(!page.contains("degraded"))
        }
    }

    @Test("a person has their own form of times, alone as in a list")
    func people() async throws {
        try await run { harness, talk, _ in
            talk.on("talk.people", reply: Reply(.ok, try JSONValue(parsing: #"{"id":"bob"}"#)))
            #expect(try await list(harness, "/api/talkers") == #"{"data":{"id":"bob","stars":1}}"#)
        }
    }

    @Test("values are asked for again only after an entry of the service's log named their message")
    func cached() async throws {
        try await run { harness, _, stars in
            let client = try await harness.connect()
            _ = try await list(harness)
            let first = try await list(harness)
            #expect(first.contains(#""stars":1"#))
            #expect(stars.questions() == [["ada", "m1", "m2"]])
            let notice = Emission(to: .person("ada"), "stars:changed", .emptyObject)
            stars.service.emit([notice], fact: .fieldsChanged(messageIDs: ["m1"]))
            // The gateway notes an entry before it emits the entry's events.
            while try await client.next() != .event("stars:changed", .emptyObject) {}
            #expect(try await list(harness).contains(#""stars":2"#))
            #expect(stars.questions() == [["ada", "m1"]])
            // Another person sees other values.
            _ = try await harness.request("GET", "/api/talk", as: GatewayHarness.bob)
            #expect(stars.questions() == [["bob", "m1", "m2"]])
            stars.service.restore(forgetting: 1)
            #expect(try await list(harness).contains(#""stars":4"#))
            #expect(stars.questions() == [["ada", "m1", "m2"]])
        }
    }

    @Test("without a log that has each change, the service is asked each time")
    func unlogged() async throws {
        try await run(isLogged: false) { harness, _, stars in
            for _ in 0..<2 { _ = try await list(harness) }
            #expect(stars.questions() == [["ada", "m1", "m2"], ["ada", "m1", "m2"]])
        }
    }

    @Test("a change that this gateway has not received yet is asked for")
    func notFollowed() async throws {
        try await run { harness, _, stars in
            _ = try await list(harness)
            _ = stars.service.commit([], fact: .fieldsChanged(messageIDs: ["m1"]))
            #expect(try await list(harness).contains(#""stars":2"#))
        }
    }

    @Test("while the service is down, `degraded` names it: last known values stand in, or zeros")
    func away() async throws {
        try await run { harness, talk, stars in
            stars.service.takeDown()
            #expect(try await list(harness).contains(#""stars":0,"starredAt":null}"#))
            try stars.service.bringUp()
            _ = try await list(harness)
            stars.service.takeDown()
            talk.on("talk.list", reply: Reply(.ok, try JSONValue(parsing: #"[{"id":"m1"},{"id":"m9"}]"#)))
            let degraded = #"""
                {"data":[{"id":"m1","stars":1,"starredAt":"1970-01-01T00:00:01.000Z"},\#
                {"id":"m9","stars":0,"starredAt":null}],"degraded":["stars"]}
                """#
            #expect(try await list(harness) == degraded)
        }
    }

    @Test("people grouped with their rooms have the fields, too")
    func byPerson() async throws {
        try await run { harness, _, stars in
            harness.serveRoom()
            harness.rooms.on("rooms.by-person") { request in
                let data = JSONWriter.object { json in
                    json.member("rooms", array: { $0.value(GatewayHarness.base("r")) })
                    json.member("people", array: { $0.object { $0.member("id", "bob") } })
                }
                request.reply(Reply(.ok, data).json)
            }
            let people = try await harness.request("GET", "/api/rooms/grouped-by-person").json["data"]?.array
            #expect(people?.count == 1 && people?.first?["stars"]?.int == 1)
            #expect(people?.first?["rooms"]?.array?.count == 1)
            #expect(stars.questions() == [["ada", "bob"]])
        }
    }
}
