import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import Testing

@Suite("Asking a service", .timeLimit(.minutes(1)))
struct RequestTests {
    private static let context = BusContext(requestID: "test", timeout: .seconds(60))
    private static let short = BusContext(requestID: "test", timeout: .milliseconds(50))
    private let bus = InProcessBus()

    private func ask(
        _ data: JSONValue = .emptyObject, _ context: BusContext = context
    ) async throws(ServiceError) -> Reply {
        try await bus.ask("stars.count", data, context, of: "Stars")
    }

    private func serve(_ answer: @escaping @Sendable (JSONValue) -> JSONValue?) throws {
        try bus.respond(to: "stars.count", queue: "stars") { request in
            if let answer = answer(request.data) { request.reply(answer) }
        }
    }

    @Test("the reply is read, and an error from the service is thrown as it is")
    func answers() async throws {
        try serve { $0["fails"] == nil ? Reply(.created, $0).json : ServiceError.roomNotFound.json }
        let reply = try await ask(JSONWriter.object { $0.member("n", 1) })
        #expect(reply.status == .created && reply.data["n"]?.int == 1)
        await #expect(throws: ServiceError.roomNotFound) {
            try await ask(JSONWriter.object { $0.member("fails", true) })
        }
    }

    @Test("a malformed reply is an internal error")
    func nonsense() async throws {
        try serve { _ in JSONValue(7) }
        await #expect(throws: ServiceError.noReply) { try await ask() }
    }

    @Test("an absent service, a late reply, and a closed bus ask for a retry, and an absent service is named")
    func away() async throws {
        await #expect(throws: ServiceError.unavailable("Stars")) { try await ask() }
        try serve { _ in nil }
        await #expect(throws: ServiceError.unavailable("Stars")) { try await ask(.emptyObject, Self.short) }
        await bus.close()
        await #expect(throws: ServiceError.unavailable("Stars")) { try await ask() }
    }

    @Test("a request too long for the bus is the caller's fault, a reply too long for it is internal")
    func tooLong() async throws {
        let long = JSONValue(String(repeating: "x", count: BusLimits.maxLine))
        try serve { _ in Reply(.ok, long).json }
        let question = JSONWriter.object { $0.member("text", long) }
        #expect(await #expect(throws: ServiceError.self) { try await ask(question) }?.code == .payloadTooLarge)
        #expect(await #expect(throws: ServiceError.self) { try await ask() }?.code == .internal)
    }

    @Test("a list is requested page by page, each with the members of the request")
    func pages() async throws {
        try serve { question in
            guard question["who"]?.string == "ada" else { return ServiceError.userNotFound.json }
            let first = question["cursor"]?.string.flatMap { Int($0) } ?? 0
            let items = JSONWriter.value { $0.array(of: first..<min(first + 3, 8)) { $0.number($1) } }
            return Reply(.ok, items, page: first + 3 < 8 ? JSONValue("\(first + 3)") : nil).json
        }
        let all = try await bus.askForAll("stars.count", Self.context, of: "Stars") { $0.member("who", "ada") }
        #expect(all.compactMap(\.int) == Array(0..<8))
        await #expect(throws: ServiceError.userNotFound) {
            try await bus.askForAll("stars.count", Self.context, of: "Stars") { $0.member("who", "ben") }
        }
    }

    @Test("an endless list is given up at the deadline, and a malformed one at once")
    func endless() async throws {
        try serve { $0["none"] == nil ? Reply(.ok, .emptyArray, page: JSONValue("again")).json : Reply().json }
        await #expect(throws: ServiceError.unavailable("Stars")) {
            try await bus.askForAll("stars.count", Self.short, of: "Stars") { _ in }
        }
        await #expect(throws: ServiceError.noReply) {
            try await bus.askForAll("stars.count", Self.context, of: "Stars") { $0.member("none", true) }
        }
    }
}
