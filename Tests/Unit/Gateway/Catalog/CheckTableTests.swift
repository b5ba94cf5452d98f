import ParlorContracts
import Testing

@testable import ParlorGatewayCatalog

@Suite("Which checks precede a request")
struct CheckTableTests {
    private let chat = Manifest(
        service: "chat", routes: [Route("POST", "/api/chat", "chat.send"), Route("GET", "/api/chat", "chat.list")],
        socketEvents: [SocketEvent("chat:send", "chat.send")])

    private func checking(_ requests: String..., by service: String = "guard") -> Manifest {
        var manifest = Manifest(service: service)
        manifest.checks = requests.enumerated().map {
            RequestCheck(before: $1, "\(service).check\($0)", whenAway: .allow)
        }
        return manifest
    }

    private func routeChecks(_ method: String, _ path: String..., in catalog: Catalog) -> [String] {
        guard case .route(let route, _) = catalog.routes.match(method, ["api"] + path) else { return ["no route"] }
        return route.checks.map { $0.declaration?.subject ?? "denied for \($0.service)" }
    }

    @Test("a check on a subject precedes its routes and its socket events, and nothing else")
    func everyForm() {
        let catalog = Catalog(required: []).adding(chat).adding(checking("chat.send"))
        #expect(routeChecks("POST", "chat", in: catalog) == ["guard.check0"])
        #expect(catalog.socketEvents["chat:send"]?.checks.map(\.declaration?.subject) == ["guard.check0"])
        #expect(routeChecks("GET", "chat", in: catalog) == [])
        #expect(catalog.joinChecks.isEmpty)
    }

    @Test("a check on a subject that nobody has takes effect when a service has it")
    func later() {
        let before = Catalog(required: []).adding(checking("chat.send", "room:join"))
        #expect(before.joinChecks.map(\.declaration?.subject) == ["guard.check1"])
        #expect(routeChecks("POST", "chat", in: before.adding(chat)) == ["guard.check0"])
        #expect(routeChecks("POST", "chat", in: before.adding(chat).removing(["guard"])) == [])
    }

    @Test("checks of several services are in the order of the services' names, one of each")
    func order() {
        var catalog = Catalog(required: []).adding(chat)
        for manifest in [checking("chat.send", by: "wall"), checking("chat.send", "chat.send")] {
            catalog = catalog.adding(manifest)
        }
        #expect(routeChecks("POST", "chat", in: catalog) == ["guard.check0", "wall.check0"])
    }

    @Test("with a list of checks, no other one counts, and each listed one is there before its service")
    func listed() throws {
        let list = try #require(CheckList("guard:chat.send,guard:room:join"))
        let before = Catalog(required: [], listedChecks: list).adding(chat)
        #expect(routeChecks("POST", "chat", in: before) == ["denied for guard"])
        #expect(before.joinChecks.map(\.service) == ["guard"])
        let after = before.adding(checking("chat.send", "chat.list")).adding(checking("chat.send", by: "wall"))
        #expect(routeChecks("POST", "chat", in: after) == ["guard.check0"])
        #expect(routeChecks("GET", "chat", in: after) == [])
        // Announced without it, a listed check still denies.
        #expect(after.joinChecks.map(\.declaration) == [nil])
        #expect(after.refusedChecks.map(\.check.service) == ["guard", "wall"])
        #expect(after.refusedChecks.allSatisfy { $0.reason == .unlisted })
        #expect(routeChecks("POST", "chat", in: after.removing(["guard"])) == ["denied for guard"])
    }

    @Test("a list without checks switches off all of them")
    func none() throws {
        let list = try #require(CheckList("none"))
        let catalog = Catalog(required: [], listedChecks: list).adding(chat).adding(checking("chat.send"))
        #expect(routeChecks("POST", "chat", in: catalog) == [])
    }

    @Test(
        "a text that is no list of checks is refused",
        arguments: [
            "", "words", "words:", ":chat.send", "words:chat", "words:chat.*", "wo rds:chat.send", "words:chat.send,",
            "words:chat.send,words:chat.send", "none,words:chat.send",
        ])
    func malformed(_ text: String) { #expect(CheckList(text) == nil) }

    @Test(
        "a check on a request with passwords, tokens or addresses has no effect, in any form of the request",
        arguments: [
            Route("POST", "/api/open", "accounts.login", needsLogin: false),
            Route("POST", "/api/change", "accounts.login", wantsClient: true),
            Route("DELETE", "/api/device", "accounts.login", isConfidential: true),
        ])
    func confidential(_ route: Route) {
        let accounts = Manifest(
            service: "accounts", routes: [route, Route("POST", "/api/other", "accounts.login")],
            socketEvents: [SocketEvent("log:in", "accounts.login")])
        let catalog = Catalog(required: []).adding(checking("accounts.login")).adding(accounts)
        #expect(routeChecks(route.method, route.path.dropFirst(5).description, in: catalog) == [])
        #expect(routeChecks("POST", "other", in: catalog) == [])
        #expect(catalog.socketEvents["log:in"]?.checks.isEmpty == true)
        #expect(catalog.refusedChecks.map(\.check.before) == ["accounts.login"])
    }
}
