import ParlorJSON
import Testing

@testable import ParlorMessageBus

@Suite("a connection to a NATS server")
struct NATSReaderTests {
    private func receive(_ written: String..., credentials: NATSCredentials? = nil) throws -> [String] {
        var reader = NATSReader(
            NATSSession(name: "t", credentials, NATSSubjects(prefix: "parlor", inboxName: "x")))
        var words: [String] = []
        for written in written {
            let failure: BusReadError? = Array(written.utf8).withUnsafeBytes { bytes in
                do throws(BusReadError) {
                    try reader.read(bytes) { words.append(Self.text($0)) }
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { throw failure }
        }
        return words
    }

    private static func text(_ word: BrokerMessage) -> String {
        switch word {
        case .answer(let bytes): String(decoding: bytes, as: UTF8.self)
        case .event(let id, let message): "event \(id) \(message.subject) \(message.data)"
        case .request(let id, let address, let subject, let data, let context):
            "request \(id) \(address) \(subject) \(data) \(context.requestID) \(context.timeout) \(context.key ?? "-")"
        case .welcome(let welcome): "welcome \(welcome.maxMessage ?? 0)"
        default: "\(word)"
        }
    }

    private let info = #"INFO {"headers":true,"max_payload":1048576}"# + "\r\n"

    @Test("the handshake sends our identity and the inbox, and ends when the server has answered")
    func handshake() throws {
        let words = try receive(info, "PONG\r\n", "PING\r\n", credentials: .user("a", password: "\"b\""))
        try #require(words.count == 4)
        #expect(words[0] == "servers([])")
        #expect(words[1].hasPrefix(#"CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"#))
        #expect(words[1].hasSuffix(#""user":"a","pass":"\"b\""}"# + "\r\nSUB parlor.inbox.x.* 0\r\nPING\r\n"))
        #expect(words[2...] == ["welcome 0", "PONG\r\n"])
        #expect(try receive(info, "-ERR 'Authorization Violation'\r\n").last == #"refusal("Authorization Violation")"#)
    }

    @Test("a server's INFO has its cluster, its limit, and whether it is usable")
    func servers() throws {
        let more = #"INFO {"headers":true,"max_payload":9,"connect_urls":["1.2.3.4:4222","[::1]:5","x",7]}"# + "\r\n"
        let words = try receive(more, "PONG\r\n", more)
        #expect(words[0].contains("1.2.3.4") && words[0].contains("::1"))
        #expect(words[2] == "welcome 9" && words.count == 4)
        #expect(try receive("INFO {\"headers\":true,\"tls_required\":true}\r\n").last?.contains("TLS") == true)
        #expect(try receive("INFO {}\r\n").last?.hasPrefix("refusal") == true)
        #expect(try receive("INFO nonsense\r\n", "PONG\r\n") == ["malformed(nil)", "malformed(nil)"])
    }

    @Test("events, requests and replies are recognised by their subjects")
    func messages() throws {
        func message(_ subjects: String, _ payload: String) throws -> String? {
            try receive(info, "PONG\r\n", "MSG \(subjects) \(payload.utf8.count)\r\n\(payload)\r\n").last
        }
        #expect(try message("parlor.event.a.b 3", "[1]") == "event 3 a.b [1]")
        #expect(try message("parlor.event.a.b 3 reply.to", "[1]") == "event 3 a.b [1]")
        let request = #"{"timeout":7000,"request":"r","key":"k","data":{}}"#
        #expect(
            try message("parlor.request.a 4 in.1", request)
                == #"request 4 subject("in.1") a {} r 7.0 seconds k"#)
        #expect(
            try message("parlor.inbox.x.12 0", #"{"data":5}"#)
                == "reply(id: 12, Swift.Result<ParlorJSON.JSONValue, ParlorMessageBus.BusError>.success(5))")
        #expect(
            try message("parlor.inbox.x.12 0", #"{"error":"line_too_long"}"#)?.contains("failure(line_too_long)")
                == true)
        // Other languages' encoders end a value with a newline, or indent it.
        #expect(
            try message("parlor.inbox.x.12 0", "{\n  \"data\": 5\n}\n")
                == "reply(id: 12, Swift.Result<ParlorJSON.JSONValue, ParlorMessageBus.BusError>.success(5))")
        #expect(
            try message("parlor.request.a 4 in.1", "{\"request\": \"r\"\n,\n\"timeout\": 7000,\n\"data\": {}\n}\n")
                == #"request 4 subject("in.1") a {} r 7.0 seconds -"#)
        #expect(try message("parlor.inbox.x.12 0", "[]")?.contains("failure(refused: the reply is no JSON)") == true)
        let status = "HMSG parlor.inbox.x.12 0 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"
        #expect(try receive(info, "PONG\r\n", status).last?.contains("failure(no_responders)") == true)
    }

    @Test(
        "an unrecognised message is returned if it wants a reply, and ignored otherwise",
        arguments: [
            ("parlor.event.a 3", "{", "malformed(nil)"), ("parlor.event.A 3", "1", "malformed(nil)"),
            ("other.a 3", "1", "malformed(nil)"), ("parlor.request.a 3", #"{"data":1}"#, "malformed(nil)"),
            ("parlor.request.a 3 r", #"{"data":x}"#, "r"), ("parlor.request.a 3 r", "", "r"),
            ("parlor.inbox.x.y 0", #"{"data":1}"#, "malformed(nil)"), ("parlor.inbox.z.1 0", "", "malformed(nil)"),
        ])
    func malformed(subjects: String, payload: String, word: String) throws {
        let found = try receive(info, "PONG\r\n", "MSG \(subjects) \(payload.utf8.count)\r\n\(payload)\r\n").last
        #expect(found?.hasPrefix("malformed") == true && found?.contains(word) == true)
    }
}
