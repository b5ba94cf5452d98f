import Foundation
import Testing

@testable import ParlorClient

@Suite("Packets")
struct PacketTests {
    @Test("packets of Engine.IO are parsed")
    func engine() throws {
        guard
            case .open(let handshake) = try EnginePacket(
                #"0{"sid":"a","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#)
        else { throw ClientFailure.unreadable("no handshake") }
        #expect(handshake.sid == "a" && handshake.longestSilence == .seconds(45))
        #expect(try EnginePacket("1") == .close)
        #expect(try EnginePacket("2") == .ping(""))
        #expect(try EnginePacket("2probe") == .ping("probe"))
        #expect(try EnginePacket("3") == .pong(""))
        #expect(try EnginePacket("42[]") == .message("2[]"))
        #expect(try EnginePacket("6") == .noop)
    }

    @Test("a handshake's times are limited to an hour, and to no less than zero")
    func boundedHandshake() throws {
        guard
            case .open(let endless) = try EnginePacket(
                #"0{"sid":"a","pingInterval":\#(Int.max),"pingTimeout":\#(Int.max)}"#),
            case .open(let negative) = try EnginePacket(#"0{"sid":"a","pingInterval":-1,"pingTimeout":\#(Int.min)}"#)
        else { throw ClientFailure.unreadable("no handshake") }
        #expect(endless.longestSilence == .seconds(7_200) && endless.timeBetweenPings == .seconds(3_600))
        #expect(negative.longestSilence == .zero && negative.timeBetweenPings == .zero)
    }

    @Test("invalid packets of Engine.IO are rejected", arguments: ["", "0", "0{}", "5", "7", "b4AQ==", "\u{301}"])
    func noEngine(text: String) {
        #expect(throws: ClientFailure.self) { try EnginePacket(text) }
    }

    private func event(_ name: String, _ data: String) -> SocketPacket { .event(name: name, data: Data(data.utf8)) }

    @Test("packets of Socket.IO are parsed, with the default namespace named or not")
    func socket() throws {
        #expect(try SocketPacket(#"0{"sid":"s"}"#) == .connected)
        #expect(try SocketPacket(#"0/,{"sid":"s"}"#) == .connected)
        #expect(try SocketPacket("1") == .disconnect)
        #expect(try SocketPacket("1/,") == .disconnect)
        #expect(try SocketPacket(#"2["a:b",{"c":[1,"]"]}]"#) == event("a:b", #"{"c":[1,"]"]}"#))
        #expect(try SocketPacket(#"2/,["a",1]"#) == event("a", "1"))
        #expect(try SocketPacket(#"27["a",1]"#) == event("a", "1"))
        #expect(try SocketPacket(#"2["a"]"#) == event("a", "null"))
        #expect(try SocketPacket(#"2["a\"\u00e9,",1]"#) == event(#"a"é,"#, "1"))
        #expect(try SocketPacket(#"312[{"success":true}]"#) == .ack(id: 12, data: Data(#"{"success":true}"#.utf8)))
        #expect(
            try SocketPacket(#"4{"message":"unauthorized","data":{"code":"unauthenticated"}}"#)
                == .refused(message: "unauthorized", code: "unauthenticated"))
        #expect(try SocketPacket(#"4{"message":"later"}"#) == .refused(message: "later", code: nil))
    }

    @Test(
        "invalid packets of Socket.IO are rejected",
        arguments: [
            "", "2", "2[", "2]", "2[]", "2[1]", #"2["a]"#, #"2["a\"]"#, #"2["a" 1]"#, "3[]", "3", "3x[1]", "4", "4{}",
            #"51-["a",{"_placeholder":true,"num":0}]"#, "61-1[]", "9", #"2/other,["a",1]"#, #"2["\x",1]"#,
        ])
    func noSocket(text: String) {
        #expect(throws: ClientFailure.self) { try SocketPacket(text[...]) }
    }

    @Test("any text is parsed or rejected")
    func anything() {
        var random = SystemRandomNumberGenerator()
        let letters = Array(#"0123456[]{}",\/:aé -"#)
        for _ in 0..<20_000 {
            let text = String((0..<Int.random(in: 0...12, using: &random)).compactMap { _ in letters.randomElement() })
            _ = try? EnginePacket(text)  // `try?`: only a crash would be wrong
            _ = try? SocketPacket(text[...])
        }
    }

    @Test("packets are encoded as the protocol says")
    func outgoing() throws {
        #expect(try SocketPacket.connect(["token": .string("a\"b")]) == #"40{"token":"a\"b"}"#)
        #expect(try SocketPacket.event("a", ["b": .integer(1)], ackID: nil) == #"42["a",{"b":1}]"#)
        #expect(try SocketPacket.event("a", ["b": .bool(true)], ackID: 3) == #"423["a",{"b":true}]"#)
    }

    @Test("an ack is a success, or a refusal with the reason")
    func acks() throws {
        func check(_ json: String) throws -> Data { try SocketAck.check(Data(json.utf8)) }
        #expect(try check(#"{"success":true,"a":1}"#) == Data(#"{"success":true,"a":1}"#.utf8))
        let refusal = Refusal(code: "room_not_found", message: "No.", isRetryable: false)
        #expect(throws: ClientFailure.refused(refusal)) {
            try check(#"{"success":false,"error":{"code":"room_not_found","message":"No.","retryable":false}}"#)
        }
        for json in ["null", "[]", "{}", #"{"success":false}"#] {
            #expect(throws: ClientFailure.self) { try check(json) }
        }
    }
}

@Suite("JoinedRooms")
struct JoinedRoomsTests {
    @Test("a room is joined after those wanted before, and again on the next connection, until it is left")
    func order() {
        var rooms = JoinedRooms()
        rooms.want("a")
        rooms.want("b")
        rooms.noteJoined("a")
        #expect(rooms.next == "b")
        rooms.noteJoined("b")
        #expect(rooms.wanted == ["a", "b"] && rooms.next == nil)
        rooms.forgetConnection()
        #expect(rooms.next == "a")
        rooms.drop("a")
        #expect(rooms.next == "b" && !rooms.wants("a"))
    }

    @Test("a room that could not be joined comes after the others")
    func last() {
        var rooms = JoinedRooms()
        for room in ["a", "b"] { rooms.want(room) }
        rooms.putLast("a")
        #expect(rooms.next == "b")
        rooms.noteJoined("b")
        #expect(rooms.next == "a")
        rooms.putLast("left meanwhile")
        #expect(rooms.wanted == ["b", "a"])
    }
}
