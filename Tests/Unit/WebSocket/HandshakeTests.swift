import ParlorWebSocket
import Testing

@Suite("The opening handshake (RFC 6455, section 4)")
struct HandshakeTests {
    private let fields = [
        "Upgrade": ["websocket"], "Connection": ["keep-alive, Upgrade"], "Sec-WebSocket-Version": ["13"],
        "Sec-WebSocket-Key": ["dGhlIHNhbXBsZSBub25jZQ=="],
    ]

    /// Returns the answer to the request with some fields changed, or the refusal.
    private func answer(
        _ changes: [String: [String]] = [:], method: String = "GET", isHTTP11: Bool = true
    ) -> Result<String, WebSocketRefusal> {
        let fields = self.fields.merging(changes) { $1 }
        do throws(WebSocketRefusal) {
            let bytes = try WebSocketHandshake.accept(
                method: method, isHTTP11: isHTTP11, additionalHeaders: [("X-Request-Id", "7\r\nX: y")],
                header: { fields[$0] ?? [] })
            return .success(String(decoding: bytes, as: UTF8.self))
        } catch {
            return .failure(error)
        }
    }

    private func refusal(_ changes: [String: [String]] = [:], method: String = "GET", isHTTP11: Bool = true) -> Int? {
        guard case .failure(let refusal) = answer(changes, method: method, isHTTP11: isHTTP11) else { return nil }
        return refusal.status
    }

    @Test("the example of section 1.3 is accepted, with custom headers that cannot end a line")
    func accepted() throws {
        #expect(
            try answer().get() == """
                HTTP/1.1 101 Switching Protocols\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r
                X-Request-Id: 7  X: y\r
                \r

                """)
    }

    @Test(
        "of the subprotocols that are offered, the first is accepted",
        arguments: [
            (["chat.v1, chat.v0"], "chat.v1"), (["\tone ,two", "three"], "one"), ([], nil), ([""], nil), (["é"], nil),
            ([String(repeating: "x", count: 129)], String(repeating: "x", count: 129)), ([",chat"], "chat"),
            (["a b, c"], "c"),
        ] as [([String], String?)])
    func subprotocols(offered: [String], accepted: String?) throws {
        let lines = try answer(["Sec-WebSocket-Protocol": offered]).get().split(separator: "\r\n")
        let chosen = lines.filter { $0.hasPrefix("Sec-WebSocket-Protocol: ") }.map { $0.dropFirst(24) }
        #expect(chosen == (accepted.map { [$0[...]] } ?? []))
    }

    @Test("tokens are found in lists, in any case")
    func lists() {
        #expect(refusal(["Upgrade": ["h2c, WebSocket"], "Connection": ["x", " UPGRADE\t"]]) == nil)
    }

    @Test("without an upgrade to websocket, the client is asked to upgrade")
    func noUpgrade() {
        #expect(refusal(["Upgrade": []]) == 426)
        #expect(refusal(["Upgrade": ["websockets"]]) == 426)
        // KELVIN SIGN, which Unicode makes a k.
        #expect(refusal(["Upgrade": ["websoc\u{212A}et"]]) == 426)
        #expect(refusal(["Connection": ["keep-alive"]]) == 426)
    }

    @Test(
        "another version is answered with the right one (section 4.4)",
        arguments: [[], ["8"], ["13, 8"], ["13", "13"]])
    func versions(version: [String]) {
        guard case .failure(let refusal) = answer(["Sec-WebSocket-Version": version]) else {
            Issue.record("accepted")
            return
        }
        #expect(refusal.status == 426)
        #expect(refusal.headers.contains { $0 == ("Sec-WebSocket-Version", "13") })
    }

    @Test(
        "a key that is not 16 bytes in base64, once, is malformed",
        arguments: [
            [], [""], ["short"], ["dGhlIHNhbXBsZSBub25j"], ["dGhlIHNhbXBsZSBub25jZQ"], ["dGhlIHNhbXBsZSBub25jZ!=="],
            ["dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=="],
        ])
    func keys(key: [String]) {
        #expect(refusal(["Sec-WebSocket-Key": key]) == 400)
    }

    @Test("only a GET of HTTP/1.1 can be upgraded")
    func methods() {
        #expect(refusal(method: "POST") == 400)
        #expect(refusal(isHTTP11: false) == 400)
    }

    @Test("a client's request is one the server accepts, and its answer one the client accepts")
    func bothEnds() throws {
        let client = WebSocketClientHandshake(nonce: Array(0..<16))
        let request = client.request(host: "a:1", target: "/ws?x", additionalHeaders: [("X", "y")])
        let lines = String(decoding: request, as: UTF8.self).split(separator: "\r\n").map(String.init)
        #expect(lines.first == "GET /ws?x HTTP/1.1")
        #expect(lines.contains("Host: a:1") && lines.contains("X: y"))
        let key = try #require(lines.first { $0.hasPrefix("Sec-WebSocket-Key: ") }).dropFirst(19)
        let answer = try answer(["Sec-WebSocket-Key": [String(key)]]).get()
        let accept = try #require(answer.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Accept: ") })
        var fields = ["Upgrade": ["WebSocket"], "Connection": ["upgrade"]]
        fields["Sec-WebSocket-Accept"] = [String(accept.dropFirst(22))]
        try client.check(status: 101) { fields[$0] ?? [] }

        #expect(throws: WebSocketClientHandshake.Failure.refused(status: 503)) {
            try client.check(status: 503) { fields[$0] ?? [] }
        }
        let wrong = [
            "Sec-WebSocket-Accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "Upgrade": "h2c", "Connection": "close",
            "Sec-WebSocket-Extensions": "permessage-deflate", "Sec-WebSocket-Protocol": "chat",
        ]
        for (name, value) in wrong {
            var fields = fields
            fields[name] = [value]
            #expect(throws: WebSocketClientHandshake.Failure.self, "\(name)") {
                try client.check(status: 101) { fields[$0] ?? [] }
            }
        }
    }
}
