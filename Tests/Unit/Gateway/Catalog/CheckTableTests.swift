import Contracts
import Testing

@testable import GatewayCatalog

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
        return route.checks.map(\.subject)
    }

    @Test("a check on a subject precedes its routes and its socket events, and nothing else")
    func everyForm() {
        let catalog = Catalog(required: []).adding(chat).adding(checking("chat.send"))
        #expect(routeChecks("POST", "chat", in: catalog) == ["guard.check0"])
        #expect(catalog.socketEvents["chat:send"]?.checks.map(\.subject) == ["guard.check0"])
        #expect(routeChecks("GET", "chat", in: catalog) == [])
        #expect(catalog.joinChecks.isEmpty)
    }

    @Test("a check on a subject that nobody has takes effect when a service has it")
    func later() {
        let before = Catalog(required: []).adding(checking("chat.send", "room:join"))
        #expect(before.joinChecks.map(\.subject) == ["guard.check1"])
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
        #expect(catalog.refusedChecks.map(\.before) == ["accounts.login"])
    }
}
