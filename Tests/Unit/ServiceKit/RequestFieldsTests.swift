import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import Testing

@Suite("fields of a request")
struct RequestFieldsTests {
    private static func fields(_ json: String) throws -> RequestFields {
        try RequestFields(JSONValue(parsing: json))
    }

    private static func code(_ read: () throws -> some Any) -> ErrorCode? {
        do {
            _ = try read()
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test("data other than an object is malformed", arguments: ["[]", "1", "null", #""text""#])
    func noObject(json: String) {
        #expect(Self.code { try Self.fields(json) } == .malformedRequest)
    }

    @Test("a required field that is missing, or null, is invalid", arguments: ["{}", #"{"it":null}"#])
    func missing(json: String) throws {
        let fields = try Self.fields(json)
        #expect(Self.code { try fields.string("it") } == .invalidField)
        #expect(Self.code { try fields.bool("it") } == .invalidField)
        #expect(Self.code { try fields.strings("it", count: 0...9) } == .invalidField)
        #expect(Self.code { try fields.text("it", length: 0...9, trimmed: true) } == .invalidField)
    }

    @Test("an optional field that is missing, or null, is absent", arguments: ["{}", #"{"it":null}"#])
    func absent(json: String) throws {
        let fields = try Self.fields(json)
        #expect(try fields.optionalString("it") == nil)
        #expect(try fields.optionalBool("it") == nil)
        #expect(try fields.optionalInt("it") == nil)
        #expect(try fields.queryInt("it") == nil)
        #expect(try fields.optionalText("it", length: 1...9, trimmed: true) == nil)
        #expect(fields["it"] == nil)
    }

    @Test("null differs from a missing field")
    func given() throws {
        #expect(try Self.fields(#"{"it":null}"#).isGiven("it"))
        #expect(try !Self.fields("{}").isGiven("it"))
    }

    @Test("a wrong type is malformed, and the message names the field")
    func wrongType() throws {
        let fields = try Self.fields(
            #"{"text":"1","number":1,"flag":true,"list":["a",1],"nulls":[null],"object":{},"fraction":1.5}"#)
        #expect(Self.code { try fields.string("number") } == .malformedRequest)
        #expect(Self.code { try fields.bool("text") } == .malformedRequest)
        #expect(Self.code { try fields.optionalInt("text") } == .malformedRequest)
        #expect(Self.code { try fields.optionalInt("fraction") } == .malformedRequest)
        #expect(Self.code { try fields.text("object", length: 0...9, trimmed: true) } == .malformedRequest)
        #expect(Self.code { try fields.strings("object", count: 0...9) } == .malformedRequest)
        #expect(Self.code { try fields.strings("list", count: 0...9) } == .malformedRequest)
        #expect(Self.code { try fields.strings("nulls", count: 0...9) } == .malformedRequest)
        #expect(Self.code { try fields.queryInt("number") } == .malformedRequest)
        let error = #expect(throws: ServiceError.self) { try fields.string("flag") }
        #expect(error?.message.contains("`flag`") == true)
    }

    @Test("valid values are read")
    func read() throws {
        let fields = try Self.fields(#"{"text":" a ","number":-3,"flag":false,"list":["a","b"],"object":{"x":1}}"#)
        #expect(try fields.string("text") == " a ")
        #expect(try fields.optionalInt("number") == -3)
        #expect(try !fields.bool("flag"))
        #expect(try fields.strings("list", count: 1...2) == ["a", "b"])
        #expect(fields["object"]?.text == #"{"x":1}"#)
    }

    @Test("a list has its bounds", arguments: [("[]", false), (#"["a"]"#, true), (#"["a","b"]"#, false)])
    func listBounds(list: String, fits: Bool) throws {
        let fields = try Self.fields(#"{"list":\#(list)}"#)
        #expect(Self.code { try fields.strings("list", count: 1...1) } == (fits ? nil : .invalidField))
    }

    @Test("characters are Unicode scalars")
    func scalars() throws {
        // One family of seven scalars, one flag of two, one letter with an accent of its own.
        let fields = try Self.fields(#"{"family":"👨‍👩‍👧‍👦","flag":"🇩🇪","accent":"e\u0301"}"#)
        for (name, count) in [("family", 7), ("flag", 2), ("accent", 2)] {
            #expect(try fields.text(name, length: count...count, trimmed: false).unicodeScalars.count == count)
            #expect(Self.code { try fields.text(name, length: 0...(count - 1), trimmed: false) } == .invalidField)
            #expect(Self.code { try fields.text(name, length: (count + 1)...99, trimmed: false) } == .invalidField)
        }
    }

    @Test("bounds apply after trimming, which removes white space at the ends only")
    func trimming() throws {
        let fields = try Self.fields(#"{"text":" \t\r\n\u00a0a  b\u2028 ","blank":" \n "}"#)
        #expect(try fields.text("text", length: 4...4, trimmed: true) == "a  b")
        #expect(try fields.text("text", length: 11...11, trimmed: false) == " \t\r\n\u{a0}a  b\u{2028} ")
        #expect(Self.code { try fields.text("blank", length: 1...9, trimmed: true) } == .invalidField)
        #expect(try fields.text("blank", length: 0...9, trimmed: true) == "")
    }

    @Test(
        "a text of the longest characters, each escaped, fits with white space around it; a much longer one is refused unread"
    )
    func longTexts() throws {
        let emoji = String(repeating: "\\ud83d\\ude00", count: 4000)
        let spaces = String(repeating: " ", count: 2000)
        let fields = try Self.fields(
            #"{"text":"\#(spaces)\#(emoji)\#(spaces)","long":"\#(String(repeating: " ", count: 60_000))x"}"#)
        #expect(try fields.text("text", length: 1...4000, trimmed: true).unicodeScalars.count == 4000)
        #expect(Self.code { try fields.text("text", length: 1...3999, trimmed: true) } == .invalidField)
        #expect(Self.code { try fields.text("long", length: 1...4000, trimmed: false) } == .invalidField)
        let longer = try Self.fields(#"{"text":"\#(spaces)\#(emoji)\#(emoji)"}"#)
        #expect(Self.code { try longer.text("text", length: 1...4000, trimmed: true) } == .invalidField)
    }

    @Test("white space that is trimmed does not count, however much it is", arguments: [" ", "\\n", "\\t", " \\r\\n "])
    func muchSpace(space: String) throws {
        let spaces = String(repeating: space, count: 60_000)
        for (text, expected) in [("hi", "hi"), (#"a\\"#, #"a\"#), (#"\\n"#, #"\n"#), (#"\u000a \"b\""#, #""b""#)] {
            let fields = try Self.fields(#"{"text":"\#(spaces)\#(text)\#(spaces)"}"#)
            #expect(try fields.text("text", length: 1...4000, trimmed: true) == expected)
        }
        let blank = try Self.fields(#"{"text":"\#(spaces)"}"#)
        #expect(Self.code { try blank.text("text", length: 1...4000, trimmed: true) } == .invalidField)
    }

    @Test(
        "text is kept as sent: no normalisation",
        arguments: ["e\u{301}", "\u{e9}", "ﬁ", "\u{200b}", "\u{feff}x"])
    func faithful(text: String) throws {
        let fields = try RequestFields(JSONWriter.object { $0.member("text", text) })
        #expect(try Array(fields.text("text", length: 1...9, trimmed: true).utf8) == Array(text.utf8))
    }

    @Test("control characters but tab, newline and carriage return are refused, also where trimming would take them")
    func controls() throws {
        for value in [0...0x1F, 0x7F...0x9F].joined() {
            let scalar = try #require(Unicode.Scalar(value))
            let fields = try RequestFields(JSONWriter.object { $0.member("text", "a\(Character(scalar))") })
            let isAllowed = scalar == "\t" || scalar == "\n" || scalar == "\r"
            #expect(
                Self.code { try fields.text("text", length: 0...9, trimmed: true) }
                    == (isAllowed ? nil : .invalidField), "U+\(String(value, radix: 16))")
        }
    }

    @Test(
        "a number in a query is digits with an optional minus",
        arguments: [("0", 0), ("12", 12), ("-7", -7), ("007", 7)])
    func queryNumbers(text: String, number: Int) throws {
        #expect(try Self.fields(#"{"n":"\#(text)"}"#).queryInt("n") == number)
    }

    @Test(
        "anything else is malformed, also a number beyond all integers",
        arguments: [
            "", "-", "+1", "1.0", "1e3", " 1", "0x1", "١", "--1", "99999999999999999999", "-99999999999999999999",
            "123456789012345678901234567890",
        ])
    func badQueryNumbers(text: String) throws {
        let fields = try Self.fields(#"{"n":"\#(text)"}"#)
        #expect(Self.code { try fields.queryInt("n") } == .malformedRequest)
    }

    @Test(
        "an out-of-range limit is clamped, however many digits it has",
        arguments: [
            ("1", 1), ("200", 200), ("201", 200), ("0", 1), ("-1", 1), ("9223372036854775807", 200),
            ("9223372036854775808", 200), ("-9223372036854775809", 1), ("123456789012345678901234567890", 200),
            ("-123456789012345678901234567890", 1),
        ])
    func limits(text: String, limit: Int) throws {
        #expect(try Self.fields(#"{"limit":"\#(text)"}"#).queryLimit(standard: 50, max: 200) == limit)
    }

    @Test("a missing limit has the default", arguments: ["{}", #"{"limit":null}"#])
    func noLimit(json: String) throws {
        #expect(try Self.fields(json).queryLimit(standard: 50, max: 200) == 50)
    }

    @Test(
        "a limit that is not a number is malformed, however long it is",
        arguments: [
            "", "ten", "-", "+5", "5.0", "-------------------", "--123456789012345678901234567890",
            "+123456789012345678901234567890", "12345678901234567890123456789x", "١٢٣٤٥٦٧٨٩٠١٢٣٤٥٦٧٨٩٠",
        ])
    func badLimits(text: String) throws {
        let fields = try Self.fields(#"{"limit":"\#(text)"}"#)
        #expect(Self.code { try fields.queryLimit(standard: 50, max: 200) } == .malformedRequest)
    }
}
