import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import Testing

@testable import ParlorRooms

@Suite("A room's name")
struct RoomNameTests {
    private func read(_ name: JSONValue) throws -> RoomName? {
        try Fields(RoomName.field).read(RequestFields(JSONWriter.object { $0.member("name", name) }))
    }

    private func failure(_ name: JSONValue) -> ErrorCode? {
        do {
            _ = try read(name)
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test(
        "is trimmed, and null if empty",
        arguments: [
            ("  Team  ", "Team"), ("", nil), (" \t\n", nil), ("a\nb", "a\nb"), ("\u{3000}é🎉\u{A0}", "é🎉"),
        ] as [(String, String?)])
    func trimmed(given: String, kept: String?) throws {
        #expect(try read(JSONValue(given))?.text == kept)
    }

    @Test("has at most 100 characters, which are code points, counted after trimming")
    func length() throws {
        #expect(try read(JSONValue("  " + String(repeating: "🎉", count: 100) + " "))?.text.unicodeScalars.count == 100)
        #expect(failure(JSONValue(String(repeating: "x", count: 101))) == .invalidField)
        // One character to a reader, 101 to the contract.
        #expect(failure(JSONValue("a" + String(repeating: "\u{300}", count: 100))) == .invalidField)
    }

    @Test("has no control characters", arguments: ["nul\0nul", "bell\u{7}", "del\u{7F}", "c1\u{80}", "\u{1B}[31m"])
    func controls(text: String) {
        #expect(failure(JSONValue(text)) == .invalidField)
    }

    @Test(
        "has nothing invisible in it that turns or hides its text, and is not blank to the eye",
        arguments: [
            "a\u{202E}b", "\u{200B}", "\u{2800}", "\u{2800} \u{2800}", "\u{FFFC}", "\u{16FE4}", "\u{1D159}",
            "\u{3164}", "\u{FEFF}", "a\u{AD}b", "a\u{2028}b\u{202A}", "\u{E0041}",
        ])
    func invisible(text: String) { #expect(failure(JSONValue(text)) == .invalidField) }

    @Test(
        "may have what writing needs, and lines", arguments: ["a\r\n\tb", "👩‍👩‍👧", "می‌خواهم", "⠁⠀⠃", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "שלום"])
    func visible(text: String) throws { #expect(try read(JSONValue(text))?.text == text) }

    @Test("is text, and required where a request needs it")
    func kinds() throws {
        #expect(failure(JSONValue(5)) == .malformedRequest)
        #expect(failure(.null) == .invalidField)
        #expect(throws: ServiceError.missing("name")) { try Fields(RoomName.field).read(RequestFields(.emptyObject)) }
        let none: RoomName? = try Fields(.optional(RoomName.field, or: nil)).read(RequestFields(.emptyObject))
        #expect(none == nil)
    }

    @Test("is another one when the same letters are written with other code points")
    func codePoints() {
        #expect(RoomName(stored: "caf\u{E9}") != RoomName(stored: "cafe\u{301}"))
        #expect(RoomName(stored: "caf\u{E9}") == RoomName(stored: "caf\u{E9}"))
    }
}
