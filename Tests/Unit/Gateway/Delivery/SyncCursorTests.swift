import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorSecurity
import Testing

@testable import ParlorDelivery

@Suite("sync cursors")
struct SyncCursorTests {
    private static let codec = SyncCursorCodec(secret: Array(repeating: 7, count: 32))

    private static var cursor: SyncCursor {
        var cursor = SyncCursor([
            "rooms": LogPosition(databaseID: "r1", seq: 0, digest: 0),
            "chat": LogPosition(databaseID: "c1", seq: 41, digest: 4_000_000_000),
        ])
        cursor.logs["chat"]?.taken = 2
        return cursor
    }

    @Test("a cursor is accepted from its person")
    func roundTrip() {
        let text = Self.codec.encode(Self.cursor, for: "ada")
        #expect(Self.codec.decode(text, for: "ada") == Self.cursor)
    }

    @Test(
        "a cursor with any positions is read as it was written",
        arguments: [
            SyncCursor([:]), SyncCursor([:], unknown: ["chat", LogID("chat", 3)]),
            SyncCursor([
                "chat": .init(databaseID: "", seq: .max, digest: .min),
                LogID("chat", 1): .init(databaseID: "é", seq: 127, digest: 1),
                LogID("chat", 15): .init(databaseID: "é", seq: 128, digest: 1 << 51),
                LogID("rooms", 1000): .init(databaseID: "000000000000zzzzzzzzzzzz0z", seq: 1, digest: 0),
            ]),
        ])
    func anyPositions(cursor: SyncCursor) {
        #expect(Self.codec.decode(Self.codec.encode(cursor, for: "ada"), for: "ada") == cursor)
        for length in 0..<cursor.bytes.count {
            let part = SyncCursor(bytes: cursor.bytes.prefix(length))
            #expect(part == nil || part.map { $0.logs.count < cursor.logs.count } == true)
        }
    }

    @Test(
        "a cursor with four logs of messaging has at most 300 characters, and one with sixteen 500", arguments: [4, 16])
    func length(logs: Int) {
        var positions: [LogID: LogPosition] = [:]
        for service in ["accounts", "elements", "messaging", "rooms"] {
            let isMessaging = service == "messaging"
            let layout = isMessaging ? LogLayout(generation: 9, count: logs) : .single
            for logID in layout.logs(of: service) {
                positions[logID] = LogPosition(
                    databaseID: "3w5e11264sgsf3w5e11264sgsf", seq: 100_000_000, digest: (1 << 52) - 1)
            }
        }
        #expect(Self.codec.encode(SyncCursor(positions), for: "ada").count <= (logs == 4 ? 300 : 500))
    }

    @Test("a cursor of 0.1.0 is read")
    func older() {
        let body =
            #"{"chat":{"databaseId":"c1","seq":41,"digest":4000000000,"taken":2},"rooms":{"databaseId":"r1","seq":0,"digest":0}}"#
        let key = HMACSHA256.authenticate(Array("parlor sync cursor".utf8), key: Array(repeating: 7, count: 32))
        let signature = HMACSHA256.authenticate(Array("ada\0\(body)".utf8), key: key).prefix(16)
        #expect(Self.codec.decode(Base64URL.encode(signature + Array(body.utf8)), for: "ada") == Self.cursor)
    }

    @Test("a cursor is refused from anybody else, and by another installation")
    func bound() {
        let text = Self.codec.encode(Self.cursor, for: "ada")
        #expect(Self.codec.decode(text, for: "bob") == nil)
        #expect(SyncCursorCodec(secret: Array(repeating: 8, count: 32)).decode(text, for: "ada") == nil)
    }

    @Test("a cursor with a character changed, removed or added anywhere is invalid")
    func tampered() {
        let text = Array(Self.codec.encode(Self.cursor, for: "ada"))
        for index in text.indices {
            var changed = text
            changed[index] = text[index] == "A" ? "B" : "A"
            #expect(Self.codec.decode(String(changed), for: "ada") == nil)
            var shorter = text
            shorter.remove(at: index)
            #expect(Self.codec.decode(String(shorter), for: "ada") == nil || shorter == text)
        }
        for suffix in ["A", "AAAA", "=", "\u{0}"] {
            #expect(Self.codec.decode(String(text) + suffix, for: "ada") == nil)
        }
    }

    @Test(
        "arbitrary text is no cursor",
        arguments: ["", "0", "nonsense", "a.b.c", "é", String(repeating: "x", count: 9000)])
    func nonsense(text: String) {
        #expect(Self.codec.decode(text, for: "ada") == nil)
    }
}
