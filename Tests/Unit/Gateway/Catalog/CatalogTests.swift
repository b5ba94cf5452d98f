import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import Testing

@testable import ParlorGatewayCatalog

@Suite("What services announce")
struct CatalogTests {
    private let chat = Manifest(
        service: "chat", routes: [Route("GET", "/api/chat", "chat.list")],
        socketEvents: [SocketEvent("chat:send", "chat.send")],
        contribution: Contribution(
            subject: "chat.contribute", fields: [.init("badges.chat", role: .badge("chat"), zero: JSONValue(0))]),
        hasEventLog: true, limits: [RateLimit("sends", perPerson: 1, perAddress: 2, seconds: 3)])
    private let board = Manifest(
        service: "board", routes: [Route("GET", "/api/board", "board.list")],
        socketEvents: [SocketEvent("board:add", "board.add")], presenceSubject: "board.presence")

    private static func contributing(_ path: String, to object: ShownObject) -> Manifest {
        var manifest = Manifest(service: "a")
        manifest.objectContributions[object] = Contribution(subject: "a.x", fields: [.init(path, zero: .null)])
        return manifest
    }

    private func isKnown(_ path: String, in catalog: Catalog) -> Bool {
        if case .route = catalog.routes.match("GET", ["api", path]) { true } else { false }
    }

    @Test("a service sends the events that its manifest names, those that nobody names, and its own badges")
    func sending() throws {
        func event(_ name: String, _ data: String = "{}", _ composition: Emission.Composition? = nil) throws -> Emission
        {
            Emission(to: .room, name, try JSONValue(parsing: data), composition: composition)
        }
        var chat = chat
        chat.emits = ["chat:new"]
        let catalog = Catalog(required: []).adding(chat).adding(board)
        for (service, emission, maySend) in [
            ("chat", try? event("chat:new"), true), ("board", try? event("chat:new"), false),
            ("board", try? event("board:moved"), true), ("unknown", try? event("chat:new"), false),
            ("chat", try? event("sync:done"), false), ("chat", try? event("disconnect"), false),
            ("chat", try? event("room:badges"), false),
            ("chat", try? event("room:badges", #"{"badges":{"chat":1}}"#, .badges), true),
            ("board", try? event("room:badges", #"{"badges":{"chat":1}}"#, .badges), false),
            ("chat", try? event("room:badges", #"{"badges":{"chat":1,"board":2}}"#, .badges), false),
            ("chat", try? event("room:badges", #"{"badges":{"chat":"many"}}"#, .badges), false),
            ("chat", try? event("room:badges", #"{"badges":{"chat":-1}}"#, .badges), false),
            ("chat", try? event("room:badges", #"{"badges":{"chat":1.5}}"#, .badges), false),
            ("chat", try? event(""), false), ("chat", try? event(String(repeating: "x", count: 129)), false),
        ] {
            let refusal = try #require(emission.map { catalog.refusal(of: $0, from: service) })
            #expect((refusal == nil) == maySend, "\(service) \(emission?.event ?? ""): \(refusal ?? "")")
        }
        let clash = try #require(try? event("room:badges", #"{"badges":{"board":2}}"#, .badges))
        #expect(catalog.refusal(of: clash, from: "chat") == "the badge board is not this service's")
        var thief = Manifest(service: "thief")
        thief.emits = ["chat:new"]
        #expect(catalog.conflict(with: thief)?.holder == "chat")
        thief.emits = ["room:presence"]
        #expect(catalog.conflict(with: thief)?.holder == Catalog.gateway)
    }

    @Test("the catalog combines what all services offer")
    func together() {
        var catalog = Catalog(required: ["chat"])
        for manifest in [chat, board] { catalog = catalog.adding(manifest) }
        #expect(isKnown("chat", in: catalog) && isKnown("board", in: catalog))
        #expect(catalog.socketEvents["chat:send"]?.declaration.subject == "chat.send")
        #expect(catalog.socketEvents["board:add"]?.declaration.subject == "board.add")
        #expect(catalog.contributors.map(\.service) == ["chat"])
        #expect(catalog.limits["sends"]?.perAddress == 2)
        #expect(catalog.services.map(\.service) == ["board", "chat"])
    }

    @Test("a service's newer announcement replaces its older one")
    func replaces() {
        var catalog = Catalog(required: [])
        catalog = catalog.adding(chat)
        catalog = catalog.adding(Manifest(service: "chat", routes: [Route("GET", "/api/talk", "chat.talk")]))
        #expect(isKnown("talk", in: catalog) && !isKnown("chat", in: catalog))
        #expect(catalog.socketEvents.isEmpty && catalog.contributors.isEmpty)
        #expect(catalog.limits.isEmpty)
    }

    @Test("a list of rooms is made of logged and of unlogged parts, and its rooms have to be logged")
    func listSources() {
        var catalog = Catalog(required: [])
        var rooms = Manifest(
            service: "rooms",
            routes: [
                Route("GET", "/api/rooms", "rooms.list", answer: .rooms),
                Route("GET", "/api/room", "rooms.get", answer: .room),
            ], hasEventLog: true, logsWhatRoomsShow: true)
        catalog = catalog.adding(rooms)
        catalog = catalog.adding(board)
        #expect(catalog.listSources?.logs == ["rooms"] && catalog.listSources?.owner == "rooms")
        catalog = catalog.adding(chat)
        #expect(catalog.listSources?.logs == ["rooms"] && catalog.listSources?.unlogged == ["chat"])
        var logging = chat
        logging.logsWhatRoomsShow = true
        catalog = catalog.adding(logging)
        #expect(catalog.listSources?.logs == ["chat", "rooms"] && catalog.listSources?.unlogged == [])
        rooms.hasEventLog = false
        catalog = catalog.adding(rooms)
        #expect(catalog.listSources == nil)
    }

    @Test("a manifest that declares something twice is found: a field, a route, an event")
    func repeatedClaims() {
        let field = Contribution.Field("stars", zero: .null)
        let twice = [
            Manifest(service: "x", contribution: Contribution(subject: "x.rooms", fields: [field, field])),
            Manifest(service: "x", routes: [Route("GET", "/api/x/:a", "x.one"), Route("GET", "/api/x/:b", "x.two")]),
            Manifest(service: "x", socketEvents: [SocketEvent("x", "x.one"), SocketEvent("x", "x.two")]),
        ]
        #expect(twice.map(\.repeatedClaim) == ["field stars", "GET /api/x/:", "event x"])
        #expect(chat.repeatedClaim == nil)
    }

    @Test("an announcement that changes nothing is no change")
    func revision() {
        var catalog = Catalog(required: [])
        catalog = catalog.adding(chat)
        let revision = catalog.revision
        catalog = catalog.adding(chat)
        #expect(catalog.revision == revision)
        catalog = catalog.adding(board)
        #expect(catalog.revision != revision)
    }

    @Test("the catalog is complete once every required service has announced itself")
    func whole() {
        var catalog = Catalog(required: ["chat", "board"])
        #expect(!catalog.isWhole)
        catalog = catalog.adding(chat)
        #expect(!catalog.isWhole)
        catalog = catalog.adding(board)
        #expect(catalog.isWhole)
    }

    @Test(
        "a service cannot offer what another one offers",
        arguments: [
            ("GET /api/x/:", Manifest(service: "a", routes: [Route("GET", "/api/x/:other", "a.x")])),
            ("event x", Manifest(service: "a", socketEvents: [SocketEvent("x", "a.x")])),
            ("limit x", Manifest(service: "a", limits: [RateLimit("x", perPerson: 1, perAddress: 1, seconds: 1)])),
            ("the log of ended sessions", Manifest(service: "a", logsEndedSessions: true)),
            (
                "badge x",
                Manifest(
                    service: "a",
                    contribution: Contribution(subject: "a.x", fields: [.init("y", role: .badge("x"), zero: .null)]))
            ),
            (
                "sort x",
                Manifest(
                    service: "a",
                    contribution: Contribution(
                        subject: "a.x", fields: [.init("y", .time, role: .activity(type: "y", sort: "x"), zero: .null)]
                    ))
            ),
            ("field x of a Message", Self.contributing("x", to: .messages)),
            (
                "field badges.x",
                Manifest(
                    service: "a", contribution: Contribution(subject: "a.x", fields: [.init("badges.x", zero: .null)]))
            ),
        ])
    func conflict(_ claim: String, _ manifest: Manifest) {
        var holder = Manifest(
            service: "z", routes: [Route("GET", "/api/x/:id", "z.x"), Route("POST", "/api/x/:id", "z.y")],
            socketEvents: [SocketEvent("x", "z.x")],
            contribution: Contribution(
                subject: "z.x",
                fields: [
                    .init("badges.x", zero: .null), .init("updatedAt", .laterTime, zero: .null),
                    .init("b", role: .badge("x"), zero: .null),
                    .init("at", .time, role: .activity(type: "x", sort: "x"), zero: .null),
                ]),
            logsEndedSessions: true, limits: [RateLimit("x", perPerson: 1, perAddress: 1, seconds: 1)])
        holder.objectContributions[.messages] = Contribution(subject: "z.m", fields: [.init("x", zero: .null)])
        let catalog = Catalog(required: []).adding(holder)
        #expect(catalog.conflict(with: holder) == nil)
        #expect(catalog.conflict(with: manifest).map { [$0.claim, $0.holder] } == [claim, "z"])
        let others = Manifest(
            service: "a", routes: [Route("PUT", "/api/x/:id", "a.x"), Route("GET", "/api/x/one", "a.y")],
            socketEvents: [SocketEvent("y", "a.y")],
            contribution: Contribution(subject: "a.x", fields: [.init("updatedAt", .laterTime, zero: .null)]))
        #expect(catalog.conflict(with: others) == nil)
        let own = Manifest(
            service: "a",
            contribution: Contribution(
                subject: "a.x", fields: [.init("at", .time, role: .activity(type: "a", sort: "content"), zero: .null)]))
        #expect(catalog.conflict(with: own).map { [$0.claim, $0.holder] } == ["sort content", "gateway"])
    }

    @Test(
        "a service cannot claim what is the gateway's",
        arguments: [
            ("GET /api/sync", Manifest(service: "a", routes: [Route("GET", "/api/sync/", "a.x")])),
            ("POST /healthz", Manifest(service: "a", routes: [Route("POST", "/healthz", "a.x")])),
            ("GET /", Manifest(service: "a", routes: [Route("GET", "/", "a.x")])),
            ("event room:join", Manifest(service: "a", socketEvents: [SocketEvent("room:join", "a.x")])),
            ("field text of a Message", Self.contributing("text", to: .messages)),
            ("field email of a Person", Self.contributing("email", to: .people)),
            (
                "field participants",
                Manifest(
                    service: "a",
                    contribution: Contribution(subject: "a.x", fields: [.init("participants", zero: .null)]))
            ),
        ])
    func reserved(_ claim: String, _ manifest: Manifest) {
        #expect(Catalog(required: []).conflict(with: manifest).map { [$0.claim, $0.holder] } == [claim, "gateway"])
    }
}
