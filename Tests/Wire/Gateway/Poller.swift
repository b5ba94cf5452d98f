import ParlorJSON
import Testing

/// A long-polling client of Ada's: its packets wait in the gateway until it asks.
struct Poller {
    let harness: GatewayHarness
    let target: String

    /// Connects to the main namespace.
    ///
    /// - Parameter cursor: the position to catch up from.
    static func open(_ harness: GatewayHarness, since cursor: String? = nil) async throws -> Poller {
        let path = "/socket.io/?EIO=4&transport=polling"
        let opened = try await harness.request("GET", path, as: nil)
        let sid = try #require(JSONValue(parsing: String(opened.body.dropFirst()))["sid"]?.string)
        let poller = Poller(harness: harness, target: "\(path)&sid=\(sid)")
        let since = cursor.map { ",\"since\":\"\($0)\"" } ?? ""
        try await poller.post("40{\"token\":\"\(harness.token())\"\(since)}")
        return poller
    }

    /// Connects, and joins the room `r`.
    static func joined(_ harness: GatewayHarness) async throws -> Poller {
        harness.serveRoom()
        let poller = try await open(harness)
        try await poller.post(#"421["room:join",{"roomId":"r"}]"#)
        try await poller.read { $0.hasPrefix("431") }
        return poller
    }

    func post(_ body: String) async throws {
        #expect(try await harness.request("POST", target, as: nil, body: body).status == 200)
    }

    /// Reads up to a packet.
    ///
    /// - Returns: all packets up to it.
    @discardableResult
    func read(to isLast: (Substring) -> Bool) async throws -> [Substring] {
        var packets: [Substring] = []
        while true {
            let answer = try await harness.request("GET", target, as: nil)
            try #require(answer.status == 200, "the socket is gone")
            for packet in answer.body.split(separator: "\u{1E}") {
                packets.append(packet)
                if isLast(packet) { return packets }
            }
        }
    }

    /// Reads until the gateway has closed the session.
    func readToEnd() async throws {
        while try await harness.request("GET", target, as: nil).status == 200 {}
    }
}
