import ParlorEdge
import ParlorHTTP
import ParlorJSON
import ParlorReactor
import Testing

@Suite("Clients behind proxies", .timeLimit(.minutes(1)))
struct ForwardedForTests {
    /// Reports the client of a request, and of a socket.
    private static let whoAmI = TestDelegate.Behaviour(
        onRequest: { _, client, responder in responder.send(HTTPResponse(status: 200, body: Array("\(client)".utf8))) },
        onConnect: { socket, _ in
            socket.accept(payload: JSONWriter.object { $0.member("you", "\(socket.handshake.client)") })
        })

    private func expect(
        _ client: String, trusting networks: [String], _ fields: [String], _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let configuration = EdgeConfiguration.socketIO().with {
            $0.trustedProxies = networks.compactMap(IPNetwork.init)
        }
        try await TestServer.run(configuration: configuration, Self.whoAmI) { server in
            let headers = fields.map { "X-Forwarded-For: \($0)" }
            let answer = try server.client().request("GET", "/", headers: headers)
            #expect(answer.body == client, sourceLocation: location)
            let socket = try server.webSocket(headers: headers)
            try socket.sendFrame("40")
            #expect(try socket.receiveFrame()?.hasSuffix("\"you\":\"\(client)\"}") == true, sourceLocation: location)
        }
    }

    @Test("a forwarded address from an untrusted peer is ignored")
    func untrusted() async throws {
        try await expect("127.0.0.1", trusting: [], ["203.0.113.9"])
        try await expect("127.0.0.1", trusting: ["10.0.0.0/8"], ["203.0.113.9"])
    }

    @Test("behind trusted proxies the last untrusted address counts, over all fields")
    func forwarded() async throws {
        let proxies = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"]
        try await expect("203.0.113.9", trusting: proxies, ["203.0.113.9"])
        try await expect("203.0.113.9", trusting: proxies, ["198.51.100.1, 203.0.113.9 ,10.0.0.7"])
        try await expect("203.0.113.9", trusting: proxies, ["198.51.100.1, 203.0.113.9", "2001:DB8::7"])
        try await expect("2001:db9::1", trusting: proxies, ["2001:db9::1"])
    }

    @Test("an address counts without its port, which some proxies write")
    func port() async throws {
        try await expect("203.0.113.9", trusting: ["127.0.0.1"], ["198.51.100.1:1, 203.0.113.9:40000"])
        try await expect("2001:db8:1::7", trusting: ["127.0.0.1"], ["[2001:db8:1::7]:40000"])
    }

    @Test("a list is read from its end, for sixteen entries at most")
    func longList() async throws {
        let long = (1...200).map { "10.0.0.\($0)" }.joined(separator: ", ")
        try await expect("203.0.113.9", trusting: ["127.0.0.1"], [long + ", 203.0.113.9"])
        try await expect("10.0.0.185", trusting: ["127.0.0.1", "10.0.0.0/8"], [long])
    }

    @Test("with every peer trusted the farthest address counts, and without the field the peer")
    func allTrusted() async throws {
        try await expect("10.0.0.1", trusting: ["127.0.0.1", "10.0.0.0/8"], ["10.0.0.1, 10.0.0.2"])
        try await expect("127.0.0.1", trusting: ["127.0.0.1"], [])
    }

    @Test("an invalid entry makes the peer count, unless it stands before the client")
    func malformed() async throws {
        for field in ["unknown", "", "203.0.113.9:port", "203.0.113.9,", "203.0.113.9, x, 127.0.0.1"] {
            try await expect("127.0.0.1", trusting: ["127.0.0.1"], [field])
        }
        try await expect("203.0.113.9", trusting: ["127.0.0.1"], ["x, 203.0.113.9"])
    }
}
