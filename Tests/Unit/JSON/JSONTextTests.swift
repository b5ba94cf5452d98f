import ParlorJSON
import Testing

@Suite("Strings, numbers and members of JSON")
struct JSONTextTests {
    // MARK: Strings

    @Test(
        "every escape stands for its character, in a value as in a name",
        arguments: [
            (#"\""#, "\""), (#"\\"#, "\\"), (#"\/"#, "/"), (#"\b"#, "\u{8}"), (#"\f"#, "\u{c}"), (#"\n"#, "\n"),
            (#"\r"#, "\r"), (#"\t"#, "\t"), (#"\u0000"#, "\0"), (#"\u001f"#, "\u{1f}"), (#"\u0041"#, "A"),
            (#"\u00E9"#, "é"), (#"\u00e9"#, "é"), (#"\u20ac"#, "€"), (#"\ud7ff"#, "\u{d7ff}"), (#"\ue000"#, "\u{e000}"),
            (#"\uffff"#, "\u{ffff}"), (#"\uD800\uDC00"#, "\u{10000}"), (#"\udbff\udfff"#, "\u{10ffff}"),
            (#"\\u0041"#, #"\u0041"#), (#"\\\""#, #"\""#), (#"a\u0000b"#, "a\0b"),
        ])
    func escapes(written: String, plain: String) throws {
        #expect(try JSONValue(parsing: "\"\(written)\"").string == plain)
        let object = try #require(try JSONValue(parsing: "{\"\(written)\":1}").object)
        #expect(object.names == [plain] && object[plain]?.int == 1)
    }

    @Test("any other letter after a backslash is refused")
    func unknownEscapes() {
        for byte in UInt8.min...UInt8.max where !Array(#""\/bfnrtu"#.utf8).contains(byte) {
            #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, 0x5C, byte, 0x22]) }
        }
    }

    @Test(
        "half a surrogate pair, and missing or invalid digits, are refused",
        arguments: [
            #"\ud800"#, #"\udbff"#, #"\udc00"#, #"\udfff"#, #"\ud800\ud800"#, #"\ud800\u0041"#, #"\ud800x"#,
            #"\ud800\n"#,
            #"\udc00\ud800"#, #"\u"#, #"\u1"#, #"\u123"#, #"\u12g4"#, #"\u-123"#, #"\u 123"#, #"\ud800\u"#,
            #"\ud800\udc0"#,
            #"\U0041"#, #"\x41"#,
        ])
    func badEscapes(written: String) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: "\"\(written)\"") }
    }

    @Test("characters that need an escape get one, wherever they are, and no others do")
    func writing() throws {
        for byte in UInt8.min..<0x80 {
            let scalar = String(UnicodeScalar(byte))
            for index in 0..<20 {
                let text =
                    String(repeating: "é", count: index / 2) + String(repeating: "a", count: index % 9) + scalar + "€"
                let written = JSONValue(text)
                #expect(try JSONValue(parsing: written.text).string == text)
                #expect(written.bytes.contains(0x5C) == (byte < 0x20 || byte == 0x22 || byte == 0x5C))
            }
        }
    }

    @Test("a control character has to be escaped; DEL and all above need not be")
    func controls() throws {
        for byte in UInt8.min..<0x20 {
            #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, byte, 0x22]) }
        }
        #expect(try JSONValue(parsing: "\"\u{7f}\u{80}\u{2028}\"").string == "\u{7f}\u{80}\u{2028}")
    }

    @Test("text is valid UTF-8 exactly if the standard library accepts it")
    func utf8() {
        let bytes: [UInt8] = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]
        let starts = Array(UInt8(0x80)...0xFF)
        for first in starts {
            for second in bytes + [0x22] {
                for tail in [[], [0x80], [0x80, 0x80], [0xBF, 0xBF, 0x80], [0x80, 0x41], [0x80, 0xC0]] as [[UInt8]] {
                    let text = [first, second] + tail
                    guard text.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) else { continue }
                    let plain = String(validating: text, as: UTF8.self)
                    let value = try? JSONValue(parsing: [0x22] + text + [0x22])  // refused: nil
                    #expect(value?.string == plain, "\(text)")
                }
            }
        }
    }

    // MARK: Numbers

    @Test(
        "JSON numbers are accepted, as whole ones or not",
        arguments: [
            ("0", 0, 0), ("-0", 0, 0), ("7", 7, 7), ("-7", -7, -7), ("0.0", nil, 0), ("1e0", nil, 1),
            ("1E+2", nil, 100),
            ("25e-1", nil, 2.5), ("-0.5", nil, -0.5), ("9223372036854775807", .max, 0x1p63),
            ("-9223372036854775808", .min, -0x1p63), ("9223372036854775808", nil, 0x1p63),
            ("-9223372036854775809", nil, -0x1p63), ("18446744073709551616", nil, 0x1p64),
            ("1.7976931348623157e308", nil, .greatestFiniteMagnitude),
            ("1e-400", nil, 0), ("5e-324", nil, .leastNonzeroMagnitude), ("0e99999999999999999999", nil, 0),
            ("100000000000000000000000000000", nil, 1e29),
        ] as [(String, Int?, Double?)])
    func numbers(text: String, int: Int?, double: Double?) throws {
        let value = try JSONValue(parsing: text)
        #expect(value.text == text && value.kind == .number)
        #expect(value.int == int)
        #expect(value.double == double)
    }

    @Test(
        "text that resembles a number is refused",
        arguments: [
            "00", "-00", "01", "-01", "0x10", "1.", "1.e1", ".1", "-.1", "1e", "1e+", "1e1.5", "1e1e1", "--1", "+0",
            "- 1", "1 2", "1_000", "1,5", "1f", "١", "Infinity", "-Infinity", "NaN", "-",
        ])
    func badNumbers(text: String) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    }

    @Test(
        "a number that other languages' parsers may not take is refused: one beyond a double, or of more than 64 characters",
        arguments: [
            "1e309", "-1e309", "1e99999999999999999999", String(repeating: "9", count: 65),
            "-" + String(repeating: "9", count: 64),
            "0." + String(repeating: "0", count: 63), "1e" + String(repeating: "0", count: 63),
            String(repeating: "9", count: 5000),
        ])
    func unusualNumbers(text: String) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: "{\"a\":[\(text)]}") }
    }

    @Test(
        "numbers stored before there was a limit can be read",
        arguments: [("1e309", nil), ("1" + String(repeating: "0", count: 70), 1e70)])
    func unbounded(text: String, double: Double?) throws {
        let value = try JSONValue(parsing: Array(text.utf8), isBounded: false)
        #expect(value.text == text && value.double == double)
    }

    @Test("a number of 64 characters is accepted")
    func longest() throws {
        for text in [String(repeating: "9", count: 64), "1e" + String(repeating: "0", count: 61) + "1"] {
            #expect(try JSONValue(parsing: text).text == text)
        }
    }

    @Test(
        "a written number reads back unchanged",
        arguments: [
            0, -0.0, 1, -1, 0.1, 1e15, 9_007_199_254_740_991, 9_007_199_254_740_992, 1e16, 1e21, -1e300,
            .leastNonzeroMagnitude,
            1.7976931348623157e308, 123.456,
        ])
    func writtenNumbers(number: Double) throws {
        let written = JSONWriter.value { $0.number(number) }
        #expect(try JSONValue(parsing: written.text).double == number)
    }

    @Test("a written text reads back unchanged, character by character")
    func writtenTexts() throws {
        for scalar in (0...0x2FF).compactMap(Unicode.Scalar.init) + ["\u{2028}", "\u{d7ff}", "\u{e000}", "\u{10ffff}"] {
            let text = "a\(Character(scalar))b"
            let value = JSONValue(text)
            #expect(try JSONValue(parsing: value.bytes).string == text)
        }
    }

    // MARK: Members

    @Test("of members with one name the last counts, also if each is spelled in another way")
    func duplicates() throws {
        let object = try #require(try JSONValue(parsing: #"{"a":1,"\u0061":2,"b":3,"a":4,"\u0062":5}"#).object)
        #expect(object["a"]?.int == 4)
        #expect(object["b"]?.int == 5)
        #expect(object.names == ["a", "a", "b", "a", "b"])
        #expect(object.all.map(\.value.int) == [1, 2, 3, 4, 5])
    }

    @Test("names are compared by their scalars, not by their appearance")
    func scalars() throws {
        let object = try #require(try JSONValue(parsing: "{\"e\u{301}\":1,\"\u{e9}\":2}").object)
        #expect(object["\u{e9}"]?.int == 2 && object["e\u{301}"]?.int == 1)
        let escaped = try #require(try JSONValue(parsing: #"{"\u00e9":2,"e\u0301":1}"#).object)
        #expect(escaped["\u{e9}"]?.int == 2 && escaped["e\u{301}"]?.int == 1)
    }

    @Test("an empty name is a name, and a name may hold anything")
    func names() throws {
        let object = try #require(try JSONValue(parsing: #"{"":1,"}":2,",":3,"\\":4,"\"":5,"a:b":6}"#).object)
        #expect(["", "}", ",", "\\", "\"", "a:b"].map { object[$0]?.int } == [1, 2, 3, 4, 5, 6])
    }

    // MARK: Nesting

    @Test("nesting is counted in levels, not brackets, without recursion", arguments: [1, 2, 512, 100_000])
    func depth(limit: Int) throws {
        func nested(_ depth: Int) -> String {
            (0..<depth).map { $0 % 2 == 0 ? #"{"a":"# : "[" }.joined() + "1"
                + (0..<depth).reversed().map { $0 % 2 == 0 ? "}" : "]" }.joined()
        }
        let value = try JSONValue(parsing: nested(limit), maxDepth: limit)
        #expect(value["a"] != nil)
        #expect(throws: JSONError.self) { try JSONValue(parsing: nested(limit + 1), maxDepth: limit) }
        let flat = "[" + Array(repeating: nested(1), count: 1000).joined(separator: ",") + "]"
        #expect(try JSONValue(parsing: flat, maxDepth: 2).array?.count == 1000)
    }
}
