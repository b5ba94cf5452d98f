import Glibc
import ParlorJSON
import Testing

@testable import ParlorSocketIO

@Suite("A Socket.IO session")
struct SocketIOSessionTests {
    private let auth = try? JSONValue(parsing: #"{"token":"a"}"#)

    private func connected(_ configuration: SocketIOConfiguration = SocketIOConfiguration()) -> SocketIOSession {
        var session = SocketIOSession(configuration: configuration)
        _ = session.receive(EnginePacket("0"))
        _ = session.accept("/", sid: "s")
        return session
    }

    private func event(_ name: String, id: Int? = nil) -> SocketIOAction {
        .event(SocketIOEvent(namespace: "/", name: name, arguments: [], attachments: [], ackID: id))
    }

    private func isClosed(_ action: SocketIOAction?) -> Bool {
        if case .close = action { true } else { false }
    }

    @Test("CONNECT is checked, then answered with the sid")
    func connects() {
        var session = SocketIOSession(configuration: SocketIOConfiguration())
        #expect(session.receive(EnginePacket(#"0{"token":"a"}"#)) == .checkConnect(namespace: "/", auth: auth))
        #expect(!session.isConnected(to: "/"))
        #expect(session.accept("/", sid: "s1") == [.send(OutgoingPacket(#"40{"sid":"s1"}"#))])
        #expect(session.isConnected(to: "/") && session.connectedNamespaces == ["/"])
        #expect(session.accept("/", sid: "s2") == [])
    }

    @Test("the answer to CONNECT may have other members")
    func payload() throws {
        var session = SocketIOSession(configuration: SocketIOConfiguration())
        _ = session.receive(EnginePacket("0"))
        let more = try JSONValue(parsing: #"{"cursor":"c"}"#)
        #expect(session.accept("/", sid: "s", payload: more) == [.send(OutgoingPacket(#"40{"sid":"s","cursor":"c"}"#))])
    }

    @Test("events that wait for their CONNECT take time in proportion to their number")
    func manyWait() {
        // A copy of all of them for each would take 64 times as long for 8 times as many.
        let event = EnginePacket(#"2["a"]"#)
        func time(_ count: Int) -> Int {
            var session = SocketIOSession(configuration: SocketIOConfiguration(maxQueuedBytes: .max))
            _ = session.receive(EnginePacket("0"))
            let start = cpuTime()
            for _ in 0..<count { _ = session.receive(event) }
            let taken = cpuTime() - start
            #expect(session.accept("/", sid: "s").count == count + 1)
            return taken
        }
        let few = (0..<3).map { _ in time(1000) }.min() ?? 0
        let many = (0..<3).map { _ in time(8000) }.min() ?? 0
        #expect(many < 24 * few, "\(few) ns for 1,000, \(many) ns for 8,000")
    }

    /// Returns the time of this thread, as others may use the machine meanwhile.
    private func cpuTime() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    @Test("an unknown namespace is refused, and the session goes on")
    func unknownNamespace() {
        var session = SocketIOSession(configuration: SocketIOConfiguration())
        #expect(
            session.receive(EnginePacket("0/random"))
                == .send(OutgoingPacket(#"44/random,{"message":"Invalid namespace"}"#)))
        #expect(session.receive(EnginePacket("0")) == .checkConnect(namespace: "/", auth: nil))
    }

    @Test("events that arrive while CONNECT is checked follow it in order")
    func queued() {
        var session = SocketIOSession(configuration: SocketIOConfiguration())
        _ = session.receive(EnginePacket("0"))
        #expect(session.receive(EnginePacket("21[\"a\"]")) == nil && session.receive(EnginePacket("2[\"b\"]")) == nil)
        #expect(
            session.accept("/", sid: "s") == [.send(OutgoingPacket(#"40{"sid":"s"}"#)), event("a", id: 1), event("b")])
    }

    @Test("a refusal drops the waiting events, and a second CONNECT is accepted")
    func refused() {
        var session = SocketIOSession(configuration: SocketIOConfiguration(unexpectedPackets: .ignore))
        _ = session.receive(EnginePacket("0"))
        _ = session.receive(EnginePacket("2[\"lost\"]"))
        let error = JSONWriter.object { $0.member("message", "unauthorized") }
        #expect(session.refuse("/", error: error) == .send(OutgoingPacket(#"44{"message":"unauthorized"}"#)))
        #expect(session.receive(EnginePacket("2[\"early\"]")) == nil)
        #expect(session.receive(EnginePacket("0")) == .checkConnect(namespace: "/", auth: nil))
        #expect(session.accept("/", sid: "s") == [.send(OutgoingPacket(#"40{"sid":"s"}"#))])
    }

    @Test("too much before CONNECT is answered closes the session")
    func queueLimit() {
        var session = SocketIOSession(configuration: SocketIOConfiguration(maxQueuedBytes: 500))
        _ = session.receive(EnginePacket("0"))
        #expect(session.receive(EnginePacket(#"2["a","0123456789"]"#)) == nil)
        #expect(isClosed(session.receive(EnginePacket("2[\"b\"]"))))
    }

    @Test("the waiting events are counted again after each answer")
    func queueIsReleased() {
        var session = SocketIOSession(configuration: SocketIOConfiguration(maxQueuedBytes: 500))
        for _ in 0..<5 {
            _ = session.receive(EnginePacket("0"))
            #expect(session.receive(EnginePacket(#"2["a","0123456789"]"#)) == nil)
            _ = session.refuse("/", error: .emptyObject)
        }
    }

    @Test(
        "a packet out of place closes the session, or is ignored under that setting",
        arguments: ["2[\"a\"]", "31[]", "4{}", "1/custom", "0/custom"])
    func unexpectedPacket(text: String) {
        let namespaces: Set<String> = ["/", "/custom"]
        for policy in [SocketIOConfiguration.UnexpectedPackets.close, .ignore] {
            var session = SocketIOSession(
                configuration: SocketIOConfiguration(namespaces: namespaces, unexpectedPackets: policy))
            if text.hasPrefix("0") {
                _ = session.receive(EnginePacket(text))
                _ = session.accept("/custom", sid: "s")
            }
            let action = session.receive(EnginePacket(text))
            #expect(policy == .close ? isClosed(action) : action == nil)
        }
    }

    @Test("a malformed packet closes the session under either setting")
    func malformed() {
        var session = connected(SocketIOConfiguration(unexpectedPackets: .ignore))
        #expect(isClosed(session.receive(EnginePacket("abc"))))
        #expect(session.receive(EnginePacket("2[\"a\"]")) == nil && !session.isConnected(to: "/"))
    }

    @Test("namespaces are separate: leaving one leaves the other")
    func leaves() {
        var session = connected(SocketIOConfiguration(namespaces: ["/", "/custom"]))
        _ = session.receive(EnginePacket("0/custom"))
        _ = session.accept("/custom", sid: "s")
        #expect(session.receive(EnginePacket("1/custom")) == .disconnected(namespace: "/custom"))
        #expect(session.receive(EnginePacket("2[\"a\"]")) == event("a"))
        #expect(session.disconnect("/") == .send(OutgoingPacket("41")) && session.disconnect("/") == nil)
    }

    @Test("a client that leaves before the answer is not connected by it")
    func leavesEarly() {
        var session = SocketIOSession(configuration: SocketIOConfiguration())
        _ = session.receive(EnginePacket("0"))
        #expect(session.receive(EnginePacket("1")) == nil)
        #expect(session.accept("/", sid: "s") == [] && session.refuse("/", error: .emptyObject) == nil)
    }

    @Test("attachments come with their event, or are refused with an error")
    func attachments() {
        var takes = connected()
        #expect(takes.receive(EnginePacket("51-4[\"a\"]")) == nil)
        #expect(
            takes.receive(EnginePacket(binary: [1]))
                == .event(SocketIOEvent(namespace: "/", name: "a", arguments: [], attachments: [[1]], ackID: 4)))
        var refuses = connected(SocketIOConfiguration(acceptsAttachments: false))
        #expect(refuses.receive(EnginePacket("51-4[\"a\"]")) == nil)
        #expect(
            refuses.receive(EnginePacket(binary: [1]))
                == .refuse(
                    SocketIOEvent(namespace: "/", name: "a", arguments: [], attachments: [], ackID: 4), .attachments))
        #expect(refuses.receive(EnginePacket("2[\"b\"]")) == event("b"))
        // Its arguments are not read.
        #expect(refuses.receive(EnginePacket("51-4[\"a\",{")) == nil)
        #expect(
            refuses.receive(EnginePacket(binary: [1]))
                == .refuse(
                    SocketIOEvent(namespace: "/", name: "a", arguments: [], attachments: [], ackID: 4), .attachments))
        #expect(refuses.receive(EnginePacket("51-4[{")) == nil)
        #expect(
            refuses.receive(EnginePacket(binary: [1]))
                == .refuse(
                    SocketIOEvent(namespace: "/", name: "", arguments: [], attachments: [], ackID: 4), .attachments))
        // Without attachments it is an event like any other.
        #expect(
            refuses.receive(EnginePacket("50-[\"c\",1]"))
                == .event(
                    SocketIOEvent(
                        namespace: "/", name: "c", arguments: [JSONValue(1)], attachments: [], ackID: nil)))
        #expect(isClosed(refuses.receive(EnginePacket("50-[\"c\",{"))))
    }

    @Test("an event with a number that other programs cannot read is refused by name, and the session goes on")
    func largeNumber() {
        var session = connected()
        for number in [String(repeating: "9", count: 65), "1e400", "-1e999"] {
            let refused = SocketIOEvent(namespace: "/", name: "a", arguments: [], attachments: [], ackID: 4)
            #expect(session.receive(EnginePacket("24[\"a\",{\"w\":\(number)}]")) == .refuse(refused, .number))
        }
        guard case .event = session.receive(EnginePacket("2[\"a\",1e300]")) else {
            Issue.record("a double holds this one")
            return
        }
    }

    @Test("an event that is nested too deeply is refused by name, however deep, and the session goes on")
    func tooDeep() {
        var session = connected()
        for depth in [512, 500_000] {
            let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let refused = SocketIOEvent(namespace: "/", name: "a", arguments: [], attachments: [], ackID: 4)
            #expect(session.receive(EnginePacket("24[\"a\",\(nested)]")) == .refuse(refused, .depth))
            #expect(session.receive(EnginePacket("51-4[\"a\",\(nested)]")) == nil)
            #expect(
                session.receive(EnginePacket(binary: [1]))
                    == .refuse(
                        SocketIOEvent(namespace: "/", name: "a", arguments: [], attachments: [[1]], ackID: 4), .depth))
        }
        let fits = String(repeating: "[", count: 511) + String(repeating: "]", count: 511)
        guard case .event = session.receive(EnginePacket("24[\"a\",\(fits)]")) else {
            Issue.record("511 levels in an array are 512, which may be")
            return
        }
        // What follows the first level too many is not read.
        let unread = SocketIOEvent(namespace: "/", name: "a", arguments: [], attachments: [], ackID: nil)
        let unfinished = String(repeating: "[", count: 600)
        #expect(session.receive(EnginePacket("2[\"a\",\(unfinished)")) == .refuse(unread, .depth))
        for malformed in ["2[\"a\",]", "2[\(unfinished)", "34[\(unfinished)"] {
            var session = connected()
            #expect(isClosed(session.receive(EnginePacket(malformed))), "\(malformed)")
        }
    }

    @Test(
        "an event with a text that is refused is refused by name, and the session goes on",
        arguments: ["\\ud83d", "\\ude00", "\\ud83d\\u0041", "a" + String(repeating: "\u{301}", count: 129)])
    func refusedText(_ text: String) {
        var session = connected()
        let refused = SocketIOEvent(namespace: "/", name: "a", arguments: [], attachments: [], ackID: 4)
        #expect(session.receive(EnginePacket("24[\"a\",{\"text\":\"\(text)\"}]")) == .refuse(refused, .text))
        guard case .event = session.receive(EnginePacket("2[\"a\",{\"text\":\"\\ud83d\\ude00\"}]")) else {
            Issue.record("a whole pair is a character")
            return
        }
        for malformed in ["2[\"\(text)\"]", "34[\"\(text)\"]"] {
            var session = connected()
            #expect(isClosed(session.receive(EnginePacket(malformed))), "\(malformed)")
        }
    }

    @Test(
        "an event's name is known without its arguments, which need not be JSON",
        arguments: [
            (#"2["e",{"#, "e"), (#"27["e","#, "e"), (#"2[ "e" ,{}]"#, "e"), (#"2["\u0065",{"#, "e"),
            (#"2["\"]","#, "\"]"),
            ("2[5,{", ""), ("2", ""), (#"2["e"#, ""), (#"2["e\"#, ""),
            (#"2["\#(String(repeating: "e", count: 600))"]"#, ""),
        ])
    func preview(text: String, name: String) {
        let event = SocketIOEvent(
            namespace: "/", name: name, arguments: [], attachments: [], ackID: text.hasPrefix("27") ? 7 : nil)
        #expect(connected().preview(of: EnginePacket(text)) == .event(event))
    }

    @Test(
        "a packet that must be received in full has no preview",
        arguments: ["0", "0/x,", "1", #"51-["e"]"#, "61-7[", #"2/x,["e"]"#, "3/x,7[", "x", ""])
    func withoutPreview(text: String) {
        #expect(connected().preview(of: EnginePacket(text)) == nil)
        #expect(SocketIOSession(configuration: SocketIOConfiguration()).preview(of: EnginePacket(#"2["e"]"#)) == nil)
    }

    @Test("an ack is known without its arguments, and so is a packet that would be ignored")
    func previewOfOthers() {
        #expect(connected().preview(of: EnginePacket("37[{")) == .ack)
        var session = SocketIOSession(configuration: SocketIOConfiguration(unexpectedPackets: .ignore))
        for text in [#"2/x,["e",{"#, "3/x,7[{", #"2["e",{"#, "4{", "4/x,{"] {
            #expect(session.preview(of: EnginePacket(text)) == .ignored)
        }
        #expect(session.preview(of: EnginePacket("0/x,")) == nil)
        _ = session.receive(EnginePacket("0"))
        // It waits for its CONNECT.
        #expect(session.preview(of: EnginePacket(#"2["e",{"#)) == nil)
    }

    @Test("an ack from the client is passed on")
    func ack() {
        var session = connected()
        #expect(
            session.receive(EnginePacket("37[1]"))
                == .ack(namespace: "/", id: 7, arguments: [JSONValue(1)], attachments: []))
    }
}
