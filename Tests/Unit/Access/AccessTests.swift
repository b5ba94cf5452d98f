import Contracts
import JSON
import Testing

@Suite("Who may do what", .serialized)
struct AccessTests {
    @Test("each route and event, for each kind of caller and id", arguments: Engine.allCases)
    func matrix(engine: Engine) async throws {
        try await AccessWorld.run(on: engine) { world in
            expectRows(for: world)
            try await checkRoutes(world)
            try await checkEvents(world)
            try await checkNULs(world)
        }
    }

    /// A service that offers more has more to show here.
    private func expectRows(for world: AccessWorld) {
        #expect(world.manifests.count == 5)
        for route in world.manifests.flatMap(\.routes) {
            let name = AccessMatrix.name(of: route)
            #expect(AccessMatrix.routes[name] != nil, "\(name) has no row")
            #expect((AccessMatrix.routes[name]?.scope == .open) != route.needsLogin, "\(name)")
        }
        for event in world.manifests.flatMap(\.socketEvents) {
            #expect(AccessMatrix.events[event.event] != nil, "\(event.event) has no row")
        }
    }

    // MARK: Routes

    private func checkRoutes(_ world: AccessWorld) async throws {
        for route in world.manifests.flatMap(\.routes) + AccessMatrix.ownRoutes {
            guard let row = AccessMatrix.routes[AccessMatrix.name(of: route)] else { continue }
            try await check(route, row, world)
        }
    }

    private func check(_ route: Route, _ row: AccessRow, _ world: AccessWorld) async throws {
        let name = Comment(rawValue: AccessMatrix.name(of: route))
        func call(_ ids: Ids, _ token: String?) async throws -> Seen {
            try await world.calls.http(route.method, ids.path(route.path), token: token, body: row.body(ids))
        }
        // Another's things, made anew for each row: some of them delete.
        var theirs = try await world.ids(in: world.room, of: world.alice, and: world.bob)
        let own = try await world.ids(in: world.otherRoom, of: world.carol, and: world.dave)
        let session = route.path.contains(":id") ? try await world.calls.signIn(world.alice) : nil
        if let session { theirs.session = session.id }

        if row.scope != .open {
            let nobody = try await call(theirs, nil)
            #expect(nobody.status == 401 && code(nobody) == "unauthenticated", name)
            #expect(try await call(.missing, nil) == nobody, name)
            #expect(try await call(theirs, "no.token.atall") == nobody, name)
            #expect(try await call(theirs, world.expiredToken(of: world.alice)) == nobody, name)
            #expect(try await call(theirs, world.endedToken) == nobody, name)
        }
        if row.scope == .room {
            let missing = try await call(.missing, world.carol.token)
            #expect(missing.status == 404 && code(missing) == "room_not_found", name)
            #expect(try await call(theirs, world.carol.token) == missing, name)
            // What is in another room, by way of one's own.
            var mixed = own
            mixed = mixed.withThings(of: theirs)
            var none = own
            none = none.withThings(of: .missing)
            let foreign = try await call(mixed, world.carol.token)
            if route.path.contains(":messageId") || route.path.contains(":elementId") {
                #expect(foreign.status == 404, name)
                #expect(try await call(none, world.carol.token) == foreign, name)
            } else if row.body(mixed) != row.body(own) {
                #expect(try await call(none, world.carol.token) == foreign, name)
            }
        }
        if route.path.contains(":token") {
            #expect(try await call(theirs, world.carol.token) == call(.missing, world.carol.token), name)
        }
        if let session {
            #expect(try await call(theirs, world.carol.token) == call(.missing, world.carol.token), name)
            #expect(try await world.calls.isAccepted(session.token), name)
        }
        if row.body(.nul) != row.body(.missing) {
            // In the body: what no database need take is like what is not there.
            var ids = Ids.missing
            (ids.message, ids.element, ids.person) = (Ids.nul.message, Ids.nul.element, Ids.nul.person)
            let inRoom = row.scope == .room
            if inRoom { ids.room = own.room }
            var none = Ids.missing
            if inRoom { none.room = own.room }
            #expect(try await call(ids, world.carol.token) == call(none, world.carol.token), name)
        }
        var nulInPath = Ids.missing
        for part in [\Ids.room, \.message, \.element, \.person, \.device, \.session] {
            nulInPath[keyPath: part] = "%00"
        }
        if route.path.contains(":") { #expect(try await call(nulInPath, world.carol.token).status == 400, name) }
        let done = try await call(theirs, world.alice.token)
        #expect(done.status == row.status, "\(name): \(done)")
        if let session { try await world.calls.waitUntilRefused(session.token) }
        // What was deleted is as if it had never been.
        guard route.method == "DELETE", route.path.contains("Id/"), let last = route.path.split(separator: "/").last,
            last.hasPrefix(":")
        else { return }
        let never = theirs.withThings(of: .missing)
        #expect(try await call(theirs, world.alice.token) == call(never, world.alice.token), name)
    }

    private func code(_ seen: Seen) -> String? {
        (try? JSONValue(parsing: seen.body))?["error"]?["code"]?.string  // a body that is no JSON has none
    }

    // MARK: Events

    private func checkEvents(_ world: AccessWorld) async throws {
        for name in world.manifests.flatMap(\.socketEvents).map(\.event) + AccessMatrix.ownEvents {
            guard let row = AccessMatrix.events[name] else { continue }
            let theirs = try await world.ids(in: world.room, of: world.alice, and: world.bob)
            let own = try await world.ids(in: world.otherRoom, of: world.carol, and: world.dave)
            var nulRoom = Ids.missing
            nulRoom.room = Ids.nul.room
            let refused = try await world.calls.acks(
                [theirs, .missing, nulRoom].map { (name, row.body($0)) }, token: world.carol.token)
            #expect(refused[0].contains("room_not_found"), "\(name)")
            #expect(refused[1] == refused[0] && refused[2] == refused[0], "\(name)")
            let things = [theirs, .missing, .nul].map { own.withThings(of: $0) }
            if row.body(things[0]) != row.body(own) {
                let acks = try await world.calls.acks(things.map { (name, row.body($0)) }, token: world.carol.token)
                #expect(acks[0].contains("_not_found") || acks[0].contains(#""readCount":0"#), "\(name): \(acks[0])")
                #expect(acks[1] == acks[0] && acks[2] == acks[0], "\(name)")
            }
            let done = try await world.calls.acks([(name, row.body(theirs))], token: world.alice.token)
            #expect(done[0].contains(#""success":true"#), "\(name): \(done[0])")
        }
        let unauthorized = #"44{"message":"unauthorized","data":{"code":"unauthenticated"}}"#
        for token in [nil, "no.token.atall", world.expiredToken(of: world.alice), world.endedToken] {
            #expect(try await world.calls.acks([], token: token) == [unauthorized])
        }
    }
}
