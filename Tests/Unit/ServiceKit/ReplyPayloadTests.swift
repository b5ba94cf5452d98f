import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import Testing

@Suite("replies on the bus")
struct ReplyPayloadTests {
    private static let replies = [
        Reply(), Reply(.noContent, .null), Reply(.created, JSONValue(7), isDuplicate: true),
        Reply.page(.emptyArray, next: "a \"cursor\""), Reply.page(.emptyArray, next: nil),
        Reply(.ok, JSONValue("x"), position: .init(log: LogID(String(repeating: "\u{1}", count: 100), 9), seq: .max)),
    ]

    @Test(
        "a reply reads the same directly and from its JSON, and is no longer than it reports",
        arguments: replies.indices)
    func same(index: Int) throws {
        let reply = Self.replies[index]
        for payload: any BusPayload in [reply, reply.json] {
            #expect(try Reply(payload).json == reply.json)
        }
        #expect(reply.json.bytes.count <= reply.maxBytes)
    }

    @Test("an error is thrown the same directly and from its JSON, and is no longer than it reports")
    func errors() throws {
        for error in [
            ServiceError.roomNotFound, .unavailable("Rooms"),
            ServiceError(.invalidCredentials, String(repeating: "\u{1}\"", count: 200), retryAfter: .max),
        ] {
            for payload: any BusPayload in [error, error.json] { #expect(throws: error) { try Reply(payload) } }
            #expect(error.json.bytes.count <= error.maxBytes)
        }
        let list: any BusPayload = JSONValue.emptyArray
        #expect(throws: ServiceError.noReply) { try Reply(list) }
    }

    @Test("within a process a service's answer arrives unchanged, and one too long for the bus does not")
    func withinProcess() async throws {
        let bus = InProcessBus()
        let long = Reply(.ok, JSONValue(String(repeating: "x", count: BusLimits.maxLine)))
        try bus.respond(to: "test.*", queue: "test") { request in
            request.reply(request.subject == "test.long" ? long : Reply(.created, request.data))
        }
        let answer = try await bus.request("test.short", JSONValue(3), BusContext(requestID: "r"))
        #expect((answer as? Reply)?.status == .created)
        await #expect(throws: BusError.lineTooLong) {
            try await bus.request("test.long", .null, BusContext(requestID: "r"))
        }
        await bus.close()
    }
}
