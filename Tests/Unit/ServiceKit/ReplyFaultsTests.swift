import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceClient
import ParlorTestSupport
import Testing

@Suite("Faults of services' answers")
struct ReplyFaultsTests {
    private let log = CapturedLog()
    private let context = BusContext(requestID: "r", timeout: .seconds(1))
    private let malformed = JSONValue("?")

    @Test("each kind of fault names the service, and the same one is logged once")
    func reasons() {
        let faults = ReplyFaults(log: log.logger)
        for _ in 1...3 {
            faults.note(.deadlineExceeded, on: "late.list", context)
            faults.note(.lineTooLong, on: "long.list", context)
            faults.note(.noReply, reading: malformed, on: "odd.list", context)
            faults.note(.malformedReply, on: "raw.list", context)
        }
        #expect(log.lines.count == 4)
        for text in ["late", "no reply in time", "long", "too long for the bus", "odd", "malformed", "raw"] {
            #expect(log.text.contains(text))
        }
    }

    @Test(
        "an error with a code that clients must not get is logged with its code and status",
        arguments: [
            (#""code":"slow_mode","status":429"#, "code slow_mode, status 429"),
            (#""code":"slow_mode""#, "code slow_mode, status none"),
            (#""code":"OwnCode","status":409"#, "code OwnCode"),
            (#""message":"No.""#, "code none"),
        ])
    func codes(error: String, text: String) throws {
        let faults = ReplyFaults(log: log.logger)
        let answer = try JSONValue(parsing: #"{"error":{\#(error)}}"#)
        let read = #expect(throws: ServiceError.self) { try Reply(answer) }
        faults.note(try #require(read), reading: answer, on: "odd.list", context)
        #expect(log.lines.count == 1 && log.text.contains(text))
    }

    @Test(
        "a malformed answer is logged with what is wrong",
        arguments: [
            ("5", "no object"), (#"{"error":"x"}"#, "`error`"), (#"{"data":1}"#, "neither"),
            (#"{"status":202,"data":1}"#, "202"), (#"{"status":200}"#, "no `data`"),
        ])
    func mistakes(json: String, text: String) throws {
        let faults = ReplyFaults(log: log.logger)
        let answer = try JSONValue(parsing: json)
        faults.note(
            try #require(throws: ServiceError.self) { try Reply(answer) }, reading: answer, on: "odd.x", context)
        #expect(log.lines.count == 1 && log.text.contains(text))
    }

    @Test("a reply that is no JSON is the service's fault, and is named")
    func noJSON() {
        let faults = ReplyFaults(log: log.logger)
        let reader = ReplyReader("odd.x", .emptyObject, context, of: "The list", faults: faults)
        let failure = reader.read(.failure(.malformedReply)) { _ in true }
        #expect(failure == .failure(.noReply))
        #expect(log.text.contains("it is no JSON"))
    }

    @Test("a service is not blamed for too little time, for being down, or for an error that it gives")
    func others() throws {
        let faults = ReplyFaults(log: log.logger)
        faults.note(.deadlineExceeded, on: "a.list", BusContext(requestID: "r", timeout: .milliseconds(50)))
        faults.note(.noResponders, on: "a.list", context)
        faults.note(.disconnected, on: "a.list", context)
        faults.note(.refused("no right to ask this"), on: "a.list", context)
        // What it says of another service's malformed answer.
        faults.note(.noReply, reading: ServiceError.noReply, on: "a.list", context)
        faults.note(.noReply, reading: ServiceError.noReply.json, on: "a.list", context)
        faults.note(ServiceError(.invalidField, "?"), reading: malformed, on: "a.list", context)
        #expect(log.lines.isEmpty)
    }
}
