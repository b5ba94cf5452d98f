import ParlorContracts
import ParlorEventLog
import ParlorJSON
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
