import ParlorJSON
import ParlorTestSupport
import Testing

@testable import ParlorSocketIO

@Suite("Socket.IO packets")
struct SocketIOPacketTests {
    @Test(
        "CONNECT parses in each of its forms",
        arguments: [
            ("0", "/", nil), ("0{}", "/", "{}"), ("0/,", "/", nil), (#"0/,{"token":"a"}"#, "/", #"{"token":"a"}"#),
            ("0/custom", "/custom", nil), ("0/custom,", "/custom", nil), (#"0/custom,{"a":1}"#, "/custom", #"{"a":1}"#),
            ("0/custom?token=abc,{}", "/custom", "{}"), ("0/?x=1", "/", nil),
        ] as [(String, String, String?)])
    func connect(text: String, namespace: String, payload: String?) throws {
        let packet = try SocketIOPacket(parsing: text.bytes)
        #expect(packet.kind == .connect && packet.namespace == namespace && packet.payload?.text == payload)
    }

    @Test("an event has a name, arguments, and perhaps an id")
    func event() throws {
        let packet = try SocketIOPacket(parsing: #"2/admin,456["project:delete",1,"2",{"3":[true]}]"#.bytes)
        #expect(packet.kind == .event && packet.namespace == "/admin" && packet.id == 456)
        #expect(
            packet.eventName == "project:delete" && packet.arguments.map(\.text) == ["1", #""2""#, #"{"3":[true]}"#])
        #expect(try SocketIOPacket(parsing: "2[7]".bytes).eventName == "7")
    }

    @Test("an ack has an id and arguments")
    func ack() throws {
        let packet = try SocketIOPacket(parsing: "312[]".bytes)
        #expect(packet.kind == .ack && packet.id == 12 && packet.arguments.isEmpty)
        #expect(try SocketIOPacket(parsing: #"3/a,0["x",1]"#.bytes).arguments.map(\.text) == [#""x""#, "1"])
    }

    @Test("a binary packet says how many attachments follow")
    func binary() throws {
        let event = try SocketIOPacket(parsing: #"52-/a,7["e",{"_placeholder":true,"num":0}]"#.bytes)
        #expect(event.kind == .binaryEvent && event.attachmentCount == 2 && event.id == 7 && event.namespace == "/a")
        #expect(try SocketIOPacket(parsing: "61-789[]".bytes).kind == .binaryAck)
    }

    @Test(
        "malformed packets are refused",
        arguments: [
            "", "7", "a", "abc", " 0", "0[]", "0null", #"0"x""#, "01{}", "0{", "0/a,{} x", "0{}}", "1{}", "11",
            "2", "2{}", "2[]", "2[null]", #"2[{}]"#, #"2abc["x"]"#, "2[\"x\"", #"2["x",]"#, #"2"x""#,
            #"21234567890123456["x"]"#, #"2-1["x"]"#, "3[]", "3", "31", "31{}", #"4"#, "41", "4[]",
            #"5["x"]"#, #"5-["x"]"#, #"51["x"]"#, #"51-{}"#, #"5-1["x"]"#, #"51234567890123456-["x"]"#, "61-[]",
            "60-1{}",
        ])
    func refuses(text: String) {
        #expect(throws: ProtocolViolation.self) { try SocketIOPacket(parsing: text.bytes) }
    }

    @Test(
        "names that the libraries reserve are refused",
        arguments: ["connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener"])
    func reserved(name: String) {
        #expect(throws: ProtocolViolation.self) { try SocketIOPacket(parsing: "2[\"\(name)\"]".bytes) }
        #expect(throws: ProtocolViolation.self) { try SocketIOPacket(parsing: "51-[\"\(name)\"]".bytes) }
    }

    @Test("encoded packets match the protocol, to the byte")
    func encodes() throws {
        let one = JSONValue(1)
        #expect(OutgoingPacket.event("a\"b", [one, one]).payload.text == #"42["a\"b",1,1]"#)
        #expect(OutgoingPacket.event("a", [], namespace: "/custom", id: 3).payload.text == #"42/custom,3["a"]"#)
        #expect(OutgoingPacket.ack(456, [one]).payload.text == "43456[1]")
        #expect(OutgoingPacket.ack(0, [], namespace: "/x").payload.text == "43/x,0[]")
        #expect(OutgoingPacket.disconnect(namespace: "/").payload.text == "41")
        #expect(OutgoingPacket.disconnect(namespace: "/x").payload.text == "41/x,")
    }

    @Test("a namespace is bounded in length, and an event's payload in combining marks")
    func bounds() {
        let name = String(repeating: "a", count: 254)
        #expect((try? SocketIOPacket(parsing: Array("0/\(name),".utf8)[...])) != nil)  // nil: refused
        #expect((try? SocketIOPacket(parsing: Array("0/\(name)a,".utf8)[...])) == nil)
        let marks = String(repeating: "\u{301}\u{316}", count: 65)
        #expect((try? SocketIOPacket(parsing: Array("2[\"\(marks)\"]".utf8)[...])) == nil)
    }

    @Test("damaged packets are parsed or refused, and never crash")
    func fuzz() {
        var generator = SeededGenerator(seed: 2)
        let whole = [
            #"2/admin,456["project:delete",1,"2",{"3":[true]}]"#, #"52-7["e",{"_placeholder":true,"num":0},[{}]]"#,
            #"0/custom,{"token":"abc"}"#, "312[1,2]", #"4{"message":"no"}"#, "1/custom,",
        ].map { Array($0.utf8) }
        var parsed = 0
        for _ in 0..<50_000 {
            var bytes = whole[Int.random(in: 0..<whole.count, using: &generator)]
            for _ in 0..<Int.random(in: 0...3, using: &generator) where !bytes.isEmpty {
                let at = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[at] = .random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: at)
                default: bytes.removeSubrange(at...)
                }
            }
            // The violation itself is what is expected of most of them.
            guard let packet = try? SocketIOPacket(parsing: bytes[...]) else { continue }
            parsed += 1
            #expect(packet.namespace.hasPrefix("/"))
        }
        #expect(parsed > 1000)
    }
}
