import ParlorEdge
import ParlorHTTP
import ParlorTestSupport
import Testing

@Suite("Pages of other origins", .timeLimit(.minutes(1)))
struct AllowedOriginsTests {
    private static let preflight = [
        "Origin: https://app.example", "Access-Control-Request-Method: PUT",
        "Access-Control-Request-Headers: authorization,content-type",
    ]
    private static let handshake = "/socket.io/?EIO=4&transport=polling"
    private static let answering = TestDelegate.Behaviour(onRequest: { request, _, responder in
        responder.send(HTTPResponse(status: request.method == "OPTIONS" ? 405 : 200))
    })

    private static func run(_ origins: String, _ test: (TestServer) async throws -> Void) async throws {
        let allowed = try #require(AllowedOrigins(origins))
        let configuration = EdgeConfiguration.socketIO().with {
            $0.allowedOrigins = allowed
            $0.sharedPaths = ["/api"]
        }
        try await TestServer.run(configuration: configuration, answering, test)
    }

    @Test("a preflight is answered on shared paths only", arguments: ["/api/rooms/x/name", "/api", handshake])
    func preflights(path: String) async throws {
        try await Self.run("*") { server in
            let client = try server.client()
            let answer = try client.request("OPTIONS", path, headers: Self.preflight)
            #expect(answer.status == 204 && answer.body.isEmpty)
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
            #expect(answer.header("Access-Control-Allow-Headers") == "authorization,content-type")
            let methods = answer.header("Access-Control-Allow-Methods") ?? ""
            #expect(["GET", "POST", "PUT", "PATCH", "DELETE"].allSatisfy(methods.contains))
            #expect(try client.request("OPTIONS", "/apish", headers: Self.preflight).status == 405)
            #expect(try client.request("OPTIONS", "/api/rooms").status == 405, "no page asks this")
        }
    }

    @Test("an allowed page may read every answer on a shared path, and none elsewhere")
    func answers() async throws {
        try await Self.run("*") { server in
            let client = try server.client()
            let answer = try client.request("GET", "/api/x", headers: ["Origin: https://app.example"])
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
            #expect(answer.header("Access-Control-Expose-Headers")?.contains("Retry-After") == true)
            #expect(try client.request("GET", Self.handshake).header("Access-Control-Allow-Origin") == "*")
            #expect(try client.request("GET", "/other").header("Access-Control-Allow-Origin") == nil)
        }
    }

    @Test("a list allows the pages that it names", arguments: ["/api/x", handshake])
    func list(path: String) async throws {
        try await Self.run("https://app.example:443, http://localhost:3000,file://") { server in
            let client = try server.client()
            for origin in [
                "https://app.example", "http://localhost:3000", "HTTPS://APP.example", "https://app.example:443",
                "file://",
            ] {
                let answer = try client.request("GET", path, headers: ["Origin: \(origin)"])
                #expect(answer.status == 200 && answer.header("Access-Control-Allow-Origin") == origin)
                #expect(answer.header("Vary")?.contains("Origin") == true)
            }
            for origin in ["https://evil.example", "http://app.example", "https://app.example.evil.example", "null"] {
                let answer = try client.request("GET", path, headers: ["Origin: \(origin)"])
                #expect(answer.header("Access-Control-Allow-Origin") == nil)
                #expect(answer.header("Vary")?.contains("Origin") == true)
                let preflight = try client.request(
                    "OPTIONS", path, headers: ["Origin: \(origin)", "Access-Control-Request-Method: GET"])
                #expect(preflight.status == 204 && preflight.header("Access-Control-Allow-Origin") == nil)
            }
        }
    }

    @Test("a list refuses other pages' sockets, which no preflight would; apps and the server's own page are accepted")
    func sockets() async throws {
        try await Self.run("https://app.example") { server in
            func open(_ headers: [String]) throws -> Int {
                try server.client().openWebSocket("/socket.io/?EIO=4&transport=websocket", headers: headers).status
            }
            #expect(try open([]) == 101)
            #expect(try open(["Origin: https://app.example"]) == 101)
            #expect(try open(["Origin: https://evil.example"]) == 403)
            let refused = try server.client().request("GET", Self.handshake, headers: ["Origin: https://evil.example"])
            #expect(refused.status == 403 && refused.body == #"{"code":4,"message":"Forbidden"}"#)
            let client = try server.client()
            let own = ["Host: parlor.example:8080", "Origin: https://parlor.example:8080"]
            try client.send("GET \(Self.handshake) HTTP/1.1\r\n\(own.joined(separator: "\r\n"))\r\n\r\n")
            #expect(try client.response().status == 200)
        }
    }

    @Test(
        "a socket is opened from an app's origin, and from the own page whether or not a proxy writes the scheme's port"
    )
    func ownPage() async throws {
        try await Self.run("capacitor://localhost, ionic://localhost,tauri://localhost") { server throws in
            func open(_ origin: String, host: String) throws -> Int {
                let client = try server.client()
                try client.send("GET \(Self.handshake) HTTP/1.1\r\nHost: \(host)\r\nOrigin: \(origin)\r\n\r\n")
                return try client.response().status
            }
            for (origin, host, status) in [
                ("wss://chat.example", "chat.example:443", 200), ("ws://chat.example:8080", "chat.example:8080", 200),
                ("https://chat.example", "chat.example:443", 200), ("http://chat.example", "chat.example:80", 200),
                ("https://chat.example:443", "chat.example", 200), ("https://chat.example", "chat.example:80", 403),
                ("https://chat.example:8443", "chat.example", 403),
                ("capacitor://localhost", "chat.example", 200), ("tauri://localhost", "chat.example", 200),
                ("capacitor://elsewhere", "chat.example", 403), ("null", "chat.example", 403),
            ] {
                #expect(try open(origin, host: host) == status, "\(origin) at \(host)")
            }
        }
    }

    @Test("a listed page may send its requests with credentials, and with * none may")
    func credentials() async throws {
        for (origins, value) in [("https://app.example", "true"), ("*", nil)] {
            try await Self.run(origins) { server in
                let answer = try server.client().request(
                    "GET", Self.handshake, headers: ["Origin: https://app.example"])
                #expect(answer.header("Access-Control-Allow-Credentials") == value)
            }
        }
    }

    @Test(
        "a malformed list of origins is refused",
        arguments: [
            "", "app.example", "https://", "https://a/path", "*,https://a", "https://u@a", "4pp://a", "a_b://c",
            "file://a",
        ])
    func nonsense(text: String) { #expect(AllowedOrigins(text) == nil) }
}
