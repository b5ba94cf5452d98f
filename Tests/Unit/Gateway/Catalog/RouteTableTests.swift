import ParlorContracts
import Testing

@testable import ParlorGatewayCatalog

@Suite("The table of routes")
struct RouteTableTests {
    private let table = Self.table([
        Route("GET", "/api/rooms/my-rooms", "rooms.list"),
        Route("GET", "/api/rooms/:roomId", "rooms.get"),
        Route("PUT", "/api/rooms/:roomId/name", "rooms.rename"),
        Route("GET", "/api/rooms/:roomId/messages", "messaging.history"),
        Route("POST", "/api/rooms/:roomId/messages", "messaging.send"),
        Route("DELETE", "/api/rooms/:room/messages/:messageId", "messaging.delete"),
        Route("GET", "/api/:kind/my-rooms/:which", "odd.one"),
    ])

    private static func table(_ routes: [Route]) -> RouteTable {
        RouteTable(routes.map { Offered(declaration: $0, limits: [], checks: []) })
    }

    /// Returns the subject and the parameters as `name=value`; or the allowed methods; or nothing.
    private func match(_ method: String, _ path: String) -> [String] {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        switch table.match(method, segments) {
        case .route(let route, let parameters):
            return [route.declaration.subject] + parameters.map { "\($0.name)=\($0.value)" }
        case .otherMethods(let methods): return ["other methods"] + methods
        case .none: return []
        }
    }

    @Test("a literal segment takes precedence over a parameter")
    func literals() {
        #expect(match("GET", "/api/rooms/my-rooms") == ["rooms.list"])
        #expect(match("GET", "/api/rooms/other") == ["rooms.get", "roomId=other"])
    }

    @Test("the parameter is tried if the literal does not match")
    func goesBack() {
        #expect(match("PUT", "/api/rooms/my-rooms/name") == ["rooms.rename", "roomId=my-rooms"])
        #expect(match("GET", "/api/people/my-rooms/1") == ["odd.one", "kind=people", "which=1"])
        #expect(match("GET", "/api/rooms/my-rooms/1") == ["odd.one", "kind=rooms", "which=1"])
    }

    @Test("routes that share a segment each name its value in their own way")
    func names() {
        #expect(match("DELETE", "/api/rooms/r/messages/m") == ["messaging.delete", "room=r", "messageId=m"])
        #expect(match("POST", "/api/rooms/r/messages") == ["messaging.send", "roomId=r"])
    }

    @Test("a known path with another method differs from an unknown path")
    func otherMethods() {
        #expect(match("DELETE", "/api/rooms/r/messages") == ["other methods", "GET", "POST"])
        #expect(match("POST", "/api/rooms/my-rooms") == ["other methods", "GET"])
        for path in ["/api", "/api/rooms", "/", "/api/rooms/r/name/more", "/rooms/r"] {
            #expect(match("GET", path) == [])
        }
    }

    @Test("an empty segment is no parameter")
    func empty() {
        #expect(match("GET", "/api/rooms/") == [])
        #expect(match("GET", "/api/rooms//messages") == [])
    }

    @Test("segments are taken decoded: a slash within one does not split it")
    func decoded() {
        guard case .route(let route, let parameters) = table.match("GET", ["api", "rooms", "a/b é:c"]) else {
            Issue.record("there is no match")
            return
        }
        #expect(route.declaration.subject == "rooms.get" && parameters.map(\.value) == ["a/b é:c"])
        #expect(match("GET", "/api/rooms/:roomId") == ["rooms.get", "roomId=:roomId"])
    }

    @Test("the first of two equal routes is used")
    func twice() {
        let table = Self.table([Route("GET", "/api/x", "first.x"), Route("GET", "/api/x", "second.x")])
        guard case .route(let route, _) = table.match("GET", ["api", "x"]) else {
            Issue.record("there is no match")
            return
        }
        #expect(route.declaration.subject == "first.x")
    }
}
