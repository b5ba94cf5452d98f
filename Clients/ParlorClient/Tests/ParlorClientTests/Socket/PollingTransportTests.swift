import Foundation
import Testing

@testable import ParlorClient

@Suite("PollingTransport", .timeLimit(.minutes(1)))
struct PollingTransportTests {
    @Test("a poll may take as long as the server's handshake allows, and other requests as long as ever")
    func timeLimit() async throws {
        let handshake = #"0{"sid":"e","upgrades":[],"pingInterval":3600000,"pingTimeout":20000,"maxPayload":9}"#
        let path = "/socket.io/?EIO=4&transport=polling"
        let http = ScriptedHTTP([
            .answer("GET \(path)&t=1", handshake), .answer("POST \(path)&t=2&sid=e", "ok"),
            .answer("GET \(path)&t=3&sid=e", "2"),
        ])
        let connection = try await PollingTransport(http: http).connect(to: URL(filePath: "/socket.io/"))
        #expect(try await connection.receive() == handshake)
        try await connection.send("40")
        #expect(try await connection.receive() == "2")
        #expect(await http.requests.map(\.timeout) == [nil, nil, .seconds(3_620)])
    }
}
