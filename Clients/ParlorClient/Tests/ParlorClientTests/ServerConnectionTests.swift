import Foundation
import Testing

@testable import ParlorClient

@MainActor
@Suite("ServerConnection", .timeLimit(.minutes(1)))
struct ServerConnectionTests {
    private func connection(
        _ harness: SocketHarness, _ steps: [ScriptedHTTP.Step]
    ) -> (ServerConnection, ScriptedHTTP) {
        let server = ScriptedHTTP(steps)
        let api = RoomsAPI(transport: server, tokens: harness.tokens)
        return (ServerConnection(api: api, socket: harness.socket), server)
    }

    @Test("a message is sent over the socket while it is connected")
    func socket() async throws {
        let harness = try SocketHarness()
        let link = await harness.connected()
        let (server, _) = connection(harness, [])
        let sending = Task { try await server.send("Hello", tempID: "t1", in: "r1") }
        #expect(await link.received() == #"420["message:send",{"roomId":"r1","tempId":"t1","text":"Hello"}]"#)
        await link.sends(#"430[{"success":true,"messageId":"m1","seq":7,"message":\#(DecodingTests.message)}]"#)
        #expect(try await sending.value.seq == 7)
        await harness.socket.stop()
    }

    @Test("a message is sent over HTTP without a socket")
    func http() async throws {
        let (server, http) = connection(
            try SocketHarness(), [.answer("POST /api/rooms/r1/messages", #"{"data":\#(DecodingTests.message)}"#)])
        #expect(try await server.send("Hello", tempID: "t1", in: "r1").id == "m1")
        #expect(await http.missing.isEmpty)
    }

    @Test("a message without a reply on the socket is sent again over HTTP, with the same tempID")
    func lostAck() async throws {
        let harness = try SocketHarness()
        let link = await harness.connected()
        let (server, http) = connection(
            harness, [.answer("POST /api/rooms/r1/messages", #"{"data":\#(DecodingTests.message)}"#)])
        let sending = Task { try await server.send("Hello", tempID: "t1", in: "r1") }
        _ = await link.received()
        await link.drop()
        #expect(try await sending.value.id == "m1")
        #expect(await http.requests.first?.body == Data(#"{"tempId":"t1","text":"Hello"}"#.utf8))
        await harness.socket.stop()
    }

    @Test("a message that the server refuses is not repeated")
    func refused() async throws {
        let harness = try SocketHarness()
        let link = await harness.connected()
        let (server, _) = connection(harness, [])
        let sending = Task { try await server.send("", tempID: "t1", in: "r1") }
        _ = await link.received()
        await link.sends(
            #"430[{"success":false,"error":{"code":"invalid_field","message":"No.","retryable":false}}]"#)
        await #expect(throws: ClientFailure.self) { try await sending.value }
        await harness.socket.stop()
    }

    @Test("a deletion that finds nothing succeeds only after a lost reply")
    func deletion() async throws {
        let harness = try SocketHarness()
        let link = await harness.connected()
        let call = "DELETE /api/rooms/r1/messages/m1"
        let (server, _) = connection(
            harness, [.refusal(call, 404, "message_not_found"), .refusal(call, 404, "message_not_found")])
        let deleting = Task { try await server.deleteMessage("m1", in: "r1") }
        #expect(await link.received() == #"420["message:delete",{"messageId":"m1","roomId":"r1"}]"#)
        await link.drop()
        try await deleting.value
        await harness.socket.stop()
        await #expect(throws: ClientFailure.self) { try await server.deleteMessage("m1", in: "r1") }
    }

    @Test("receipts and typing are sent")
    func receipts() async throws {
        let harness = try SocketHarness()
        let (server, http) = connection(
            harness, [.answer("POST /api/rooms/r1/messages/read", #"{"data":{"readCount":1}}"#)])
        await server.setTyping(true, in: "r1")
        try await server.markRead(["m1"], in: "r1")
        #expect(await http.missing.isEmpty)
        let link = await harness.connected()
        await server.setTyping(true, in: "r1")
        #expect(await link.received() == #"42["message:typing",{"isTyping":true,"roomId":"r1"}]"#)
        let reading = Task { try await server.markRead(["m1"], in: "r1") }
        #expect(await link.received() == #"420["messages:mark-read",{"messageIds":["m1"],"roomId":"r1"}]"#)
        await link.sends(#"430[{"success":true,"readCount":1}]"#)
        try await reading.value
        await harness.socket.stop()
    }
}
