import ParlorContracts
import ParlorJSON
import ParlorStorage
import Testing

@testable import ParlorServiceKit

@Suite("Endpoints and their manifest")
struct RequestTableTests {
    private struct Things: Service {
        static let name = "things"
        static let migrations: [Migration] = []
        static let log: LogContents = [.clientEvents, .roomChanges]
        static let limits = [RateLimit("things", perPerson: 1, perAddress: 2, seconds: 3)]
        static let events = [EventDescription("thing:made", to: .room, "A thing was made.", .object(["thing": thing]))]
        static let thing = Schema.named("Thing", .object(["id": .id]))

        static let contribution = FieldContribution<Int>(
            "things.contribute",
            [
                .init(Contribution.Field("count", zero: JSONValue(0)), schema: .integer(from: 0)) { $0.number($1) },
                .init(Contribution.Field("badges.things", .value, zero: JSONValue(0))) { $0.number($1 * 10) },
            ])

        static let ofMessages = FieldContribution<Int>(
            "things.messages",
            [.init(Contribution.Field("things", zero: JSONValue(0)), schema: .integer(from: 0)) { $0.number($1) }])

        init() {}
        init(_ context: ServiceContext) {}

        func register(in requests: inout RequestTable) {
            let path = "/api/rooms/:roomId/things"
            requests.onRoom(
                Endpoint("things.make").route("POST", path, limits: ["things"]).route("PUT", path, isHeavy: true)
                    .socketEvent("thing:make", ackName: "thing", ackCopies: [("id", "thingId")], limits: ["things"])
                    .described(
                        RequestDescription("Makes a thing.", takes: .object(["size": .integer]), gives: Self.thing))
            ) { _ in Reply() }
            requests.onRead(Endpoint("things.find")) { _, _ in Reply() }
            requests.onContribution(Self.contribution) { rooms, _, _ in rooms.contains("a") ? ["a": 7] : [:] }
            requests.onContribution(to: .messages, Self.ofMessages) { ids, _, _ in ids.contains("m") ? ["m": 3] : [:] }
            requests.onPresence(Endpoint("things.presence")) { _ in Reply() }
            requests.on(Endpoint("things.list").route("GET", path)) { _ in Reply() }
            requests.on(Endpoint("things.check").check(before: "others.make", whenAway: .deny)) { _ in Reply() }
        }
    }

    @Test("the description has the described endpoints, with what a request in a room always needs")
    func description() {
        let description = Things().description
        #expect(Array(description.requests.keys) == ["things.make"])
        let make = description.requests["things.make"]
        #expect(make?.takes.members.map(\.name) == ["roomId", "size"] && make?.errors == [.roomNotFound])
        #expect(description.events.map(\.event) == ["thing:made"])
        #expect(description.fields == ["count": .integer(from: 0)])
        #expect(description.objectFields == [.messages: ["things": .integer(from: 0)]])
        #expect(ServiceDescription(description.json)?.objectFields == description.objectFields)
        #expect(Array(description.schemas.keys) == ["Thing"])
    }

    @Test("the manifest lists the registered endpoints in order")
    func manifest() {
        let path = "/api/rooms/:roomId/things"
        var expected = Manifest(
            service: "things",
            routes: [
                Route("POST", path, "things.make", limits: ["things"]),
                Route("PUT", path, "things.make", isHeavy: true), Route("GET", path, "things.list"),
            ],
            socketEvents: [
                SocketEvent(
                    "thing:make", "things.make", ackName: "thing", ackCopies: [("id", "thingId")], limits: ["things"])
            ],
            contribution: Contribution(
                subject: "things.contribute",
                fields: [
                    Contribution.Field("count", zero: JSONValue(0)),
                    Contribution.Field("badges.things", zero: JSONValue(0)),
                ]), hasEventLog: true, logsWhatRoomsShow: true, presenceSubject: "things.presence",
            limits: [RateLimit("things", perPerson: 1, perAddress: 2, seconds: 3)])
        expected.batched = ["things.find", "things.contribute", "things.messages"]
        expected.objectContributions[.messages] = Contribution(
            subject: "things.messages", fields: [Contribution.Field("things", zero: JSONValue(0))])
        expected.checks = [RequestCheck(before: "others.make", "things.check", whenAway: .deny)]
        expected.emits = Things().manifest.emits
        expected.descriptionDigest = Things().manifest.descriptionDigest
        #expect(expected.descriptionDigest?.utf8.count == 16)
        #expect(Things().manifest == expected && !expected.emits.isEmpty)
        #expect(Things().manifest.foreignSubject == nil)
    }

    private struct Misspelt: Service {
        static let name = "things"
        static let migrations: [Migration] = []
        static let limits = [RateLimit("things", perPerson: 1, perAddress: 2, seconds: 3)]
        let endpoint: Endpoint

        init(_ endpoint: Endpoint) { self.endpoint = endpoint }
        init(_ context: ServiceContext) { endpoint = Endpoint("things.none") }

        func register(in requests: inout RequestTable) { requests.on(endpoint) { _ in Reply() } }
    }

    @Test("an endpoint may name limits of its service or of gateways, and is not registered otherwise")
    func limits() async {
        let make = Misspelt(Endpoint("things.make").route("POST", "/api/things", limits: ["things", "writes"]))
        #expect(make.manifest.routes.map(\.limits) == [["things", "writes"]])
        await #expect(processExitsWith: .failure) {
            _ = Misspelt(Endpoint("things.make").route("POST", "/api/things", limits: ["thing"])).manifest
        }
        await #expect(processExitsWith: .failure) {
            _ = Misspelt(Endpoint("things.make").socketEvent("thing:make", limits: ["thing"])).manifest
        }
    }

    @Test("a subject has one handler")
    func twice() async {
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var requests = RequestTable(of: Misspelt.self)
            for _ in 1...2 { requests.on(Endpoint("things.none")) { _ in Reply() } }
        }
    }

    @Test("a contribution has its fields' values in order, and null for an unknown room")
    func contribution() {
        let reply = Things.contribution.reply(for: ["a", "b", "a"], ["a": 7])
        #expect(reply.data.text == #"{"rooms":[[7,70],null,[7,70]]}"#)
        #expect(Things.contribution.reply(for: [], [:]).data.text == #"{"rooms":[]}"#)
        #expect(
            Things.ofMessages.reply(for: ["m", "n"], ["m": 3], as: "messages").data.text == #"{"messages":[[3],null]}"#)
    }
}
