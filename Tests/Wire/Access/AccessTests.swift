import ParlorContracts
import ParlorJSON
import ParlorServices
import ParlorTestSupport
import Testing

@Suite("Who may do what", .timeLimit(.minutes(5)))
struct AccessTests {
    @Test("each route and event answers as the matrix says, for each kind of caller and id", arguments: Engine.lasting)
    func matrix(engine: Engine) async throws {
        try await AccessHarness.run(on: engine) { harness in
            expectRows(for: harness)
            try await checkRoutes(harness)
            try await checkEvents(harness)
            try await checkNULs(harness)
        }
    }

    /// Expects a row for everything that services offer, and nothing else.
    private func expectRows(for harness: AccessHarness) {
        #expect(Set(harness.manifests.map(\.service)) == Set(ParlorServices.all.map { $0.name }))
        for route in harness.manifests.flatMap(\.routes) {
            let name = AccessMatrix.name(of: route)
            #expect(AccessMatrix.routes[name] != nil, "\(name) has no row")
            #expect((AccessMatrix.routes[name]?.scope == .open) != route.needsLogin, "\(name)")
        }
        let routes = harness.manifests.flatMap(\.routes) + AccessMatrix.ownRoutes
        let events = harness.manifests.flatMap(\.socketEvents).map(\.event) + AccessMatrix.ownEvents
        let rows = Set(AccessMatrix.routes.keys).union(AccessMatrix.events.keys)
        #expect(rows.subtracting(routes.map(AccessMatrix.name) + events) == [], "no service has them")
        for event in harness.manifests.flatMap(\.socketEvents) {
            #expect(AccessMatrix.events[event.event] != nil, "\(event.event) has no row")
        }
    }

    // MARK: Routes

    private func checkRoutes(_ harness: AccessHarness) async throws {
        for route in harness.manifests.flatMap(\.routes) + AccessMatrix.ownRoutes {
            guard let row = AccessMatrix.routes[AccessMatrix.name(of: route)] else { continue }
            try await check(route, row, harness)
        }
    }

    private func check(_ route: Route, _ row: AccessRow, _ harness: AccessHarness) async throws {
        let name = Comment(rawValue: AccessMatrix.name(of: route))
        func call(_ ids: Ids, _ token: String?) async throws -> Seen {
            try await harness.calls.http(route.method, ids.path(route.path), token: token, body: row.body(ids))
        }
        // Another person's items, created again for each row, as some rows delete them.
        var theirs = try await harness.ids(in: harness.room, of: harness.alice, and: harness.bob)
        let own = try await harness.ids(in: harness.otherRoom, of: harness.carol, and: harness.dave)
        let session = route.path.contains(":id") ? try await harness.calls.signIn(harness.alice) : nil
        if let session { theirs.session = session.id }

        if row.scope != .open {
            let nobody = try await call(theirs, nil)
            #expect(nobody.status == 401 && code(nobody) == "unauthenticated", name)
            #expect(try await call(.missing, nil) == nobody, name)
            #expect(try await call(theirs, "no.token.atall") == nobody, name)
            #expect(try await call(theirs, harness.expiredToken(of: harness.alice)) == nobody, name)
            #expect(try await call(theirs, harness.endedToken) == nobody, name)
        }
        if row.scope == .room {
            let missing = try await call(.missing, harness.carol.token)
            #expect(missing.status == 404 && code(missing) == "room_not_found", name)
            #expect(try await call(theirs, harness.carol.token) == missing, name)
            // Items of another room, named under one's own.
            var mixed = own
            mixed = mixed.withThings(of: theirs)
            var none = own
            none = none.withThings(of: .missing)
            let foreign = try await call(mixed, harness.carol.token)
            if route.path.contains(":messageId") || route.path.contains(":elementId") {
                #expect(foreign.status == 404, name)
                #expect(try await call(none, harness.carol.token) == foreign, name)
            } else if row.body(mixed) != row.body(own) {
                #expect(try await call(none, harness.carol.token) == foreign, name)
            }
        }
        if route.path.contains(":token") {
            #expect(try await call(theirs, harness.carol.token) == call(.missing, harness.carol.token), name)
            #expect(try await harness.registerDevice(of: harness.alice) == .again, name)
        }
        if let session {
            #expect(try await call(theirs, harness.carol.token) == call(.missing, harness.carol.token), name)
            #expect(try await harness.calls.isAccepted(session.token), name)
        }
        if row.body(.nul) != row.body(.missing) {
            // In the body: what no database need take is like what is not there.
            var ids = Ids.missing
            (ids.message, ids.element, ids.person) = (Ids.nul.message, Ids.nul.element, Ids.nul.person)
            let inRoom = row.scope == .room
            if inRoom { ids.room = own.room }
            var none = Ids.missing
            if inRoom { none.room = own.room }
            #expect(try await call(ids, harness.carol.token) == call(none, harness.carol.token), name)
        }
        var nulInPath = Ids.missing
        for part in [\Ids.room, \.message, \.element, \.person, \.device, \.session] {
            nulInPath[keyPath: part] = "%00"
        }
        if route.path.contains(":") { #expect(try await call(nulInPath, harness.carol.token).status == 400, name) }
        let done = try await call(theirs, harness.alice.token)
        #expect(done.status == row.status, "\(name): \(done)")
        if let session { try await harness.calls.waitUntilRefused(session.token) }
        if route.path.contains(":token") {
            #expect(try await harness.registerDevice(of: harness.alice) == .forTheFirstTime, name)
        }
        // Deleted items look as if they had never existed.
        guard route.method == "DELETE", route.path.contains("Id/"), let last = route.path.split(separator: "/").last,
            last.hasPrefix(":")
        else { return }
        let never = theirs.withThings(of: .missing)
        #expect(try await call(theirs, harness.alice.token) == call(never, harness.alice.token), name)
    }

    private func code(_ seen: Seen) -> String? {
        (try? JSONValue(parsing: seen.body))?["error"]?["code"]?.string  // a body that is no JSON has none
    }

    // MARK: Events

    private func checkEvents(_ harness: AccessHarness) async throws {
        for name in harness.manifests.flatMap(\.socketEvents).map(\.event) + AccessMatrix.ownEvents {
            guard let row = AccessMatrix.events[name] else { continue }
            let theirs = try await harness.ids(in: harness.room, of: harness.alice, and: harness.bob)
            let own = try await harness.ids(in: harness.otherRoom, of: harness.carol, and: harness.dave)
            var nulRoom = Ids.missing
            nulRoom.room = Ids.nul.room
            if row.scope == .room {
                let refused = try await harness.calls.acks(
                    [theirs, .missing, nulRoom].map { (name, row.body($0)) }, token: harness.carol.token)
                #expect(refused[0].contains("room_not_found"), "\(name)")
                #expect(refused[1] == refused[0] && refused[2] == refused[0], "\(name)")
            }
            let things = [theirs, .missing, .nul].map { own.withThings(of: $0) }
            if row.status == 200, row.scope == .room, row.body(things[0]) != row.body(own) {
                let acks = try await harness.calls.acks(things.map { (name, row.body($0)) }, token: harness.carol.token)
                #expect(acks[0].contains("_not_found") || acks[0].contains(#""readCount":0"#), "\(name): \(acks[0])")
                #expect(acks[1] == acks[0] && acks[2] == acks[0], "\(name)")
            }
            let done = try await harness.calls.acks([(name, row.body(theirs))], token: harness.alice.token)
            #expect(done[0].contains(row.status == 409 ? "direct_room" : #""success":true"#), "\(name): \(done[0])")
        }
        let unauthorized = #"44{"message":"unauthorized","data":{"code":"unauthenticated"}}"#
        for token in [nil, "no.token.atall", harness.expiredToken(of: harness.alice), harness.endedToken] {
            #expect(try await harness.calls.acks([], token: token) == [unauthorized])
        }
    }
}
