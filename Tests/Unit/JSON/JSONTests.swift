import ParlorJSON
import Testing

@Suite("JSON values")
struct JSONTests {
    @Test(
        "valid JSON (RFC 8259) is accepted and kept as written",
        arguments: [
            "null", "true", "false", "0", "-0", "-1.5e+10", "123456789012345678901234567890", #""""#,
            #""a\u00e9\ud83c\udf89\n""#,
            "[]", "[1, 2,[3]]", "{}", #"{"a":{"b":[{}]}, "c":""}"#, "\"é🎉\"",
        ])
    func accepts(text: String) throws {
        #expect(try JSONValue(parsing: " \n\t\(text)\r ").text == text)
    }

    @Test(
        "invalid JSON is refused",
        arguments: [
            "", " ", "{", "nul", "nonsense", "'a'", "01", "1.", ".5", "+1", "1e", "-", "NaN", "Infinity", "[1,]",
            "[,1]", "[1 2]",
            #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{a:1}", #"{"a":1} x"#, #""\x""#, #""\ud800""#, #""\udc00""#,
            #""\ud800\u0041""#,
            #""\u12""#, "\"a\u{1}\"", "\"open", "]", "[}", "{]",
        ])
    func refuses(text: String) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    }

    @Test(
        "bytes that are not UTF-8 are refused",
        arguments: [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80]]
            as [[UInt8]])
    func refusesBadUTF8(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22] + bytes + [0x22]) }
    }

    @Test("the byte that ends or spoils a string is found at any offset in a machine word", arguments: 0...17)
    func everyPlaceInAWord(offset: Int) throws {
        func text(_ bytes: [UInt8]) -> [UInt8] {
            let plain = [UInt8](repeating: UInt8(ascii: "x"), count: offset)
            return [UInt8(ascii: "\"")] + plain + bytes + plain + [UInt8(ascii: "\"")]
        }
        let bad: [[UInt8]] =
            (0..<0x20).map { [$0] } + [
                [0x80], [0xBF], [0xC0, 0x80], [0xC3], [0xC3, 0x28], [0xE2, 0x82], [0xED, 0xA0, 0x80],
                [0xF0, 0x9F, 0x98],
                [0xF4, 0x90, 0x80, 0x80], [0xFF], Array(#"\"#.utf8) + [0x00], Array(#"\ud83d"#.utf8), Array("\"".utf8),
            ]
        for bytes in bad { #expect(throws: JSONError.self, "\(bytes)") { try JSONValue(parsing: text(bytes)) } }
        for good in ["", "é", "€", "😀", "日本語", #"\""#, #"\\"#, #"\u00e9"#, "\u{7F}"] {
            let whole = text(Array(good.utf8))
            #expect(try JSONValue(parsing: whole).kind == .string)
            #expect(throws: JSONError.self, "cut off") { try JSONValue(parsing: whole.dropLast()) }
        }
    }

    @Test(
        "the strings with a name are found in the objects of an array, and not deeper",
        arguments: [
            ("{}", []), ("[]", []), (#"{"id":"a"}"#, []), (#"[{"id":"a"}]"#, ["a"]),
            (
                #"[ {"x":[{"id":"no"}],"id" : "a\n"},1,"id",{"id":1} , {"id":"b","y":{"id":"no"},"id":"c"}]"#,
                ["a\n", "b", "c"]
            ),
            (#"[{"x":"id","y":"\"id\":\"a\"","id":{"id":"d"}},[{"id":"e"}]]"#, []),
            (#"[{"\u0069d":"e","idd":"f"}]"#, ["e"]), (#"["id","x"]"#, []), (#"[{"id":"a""#, ["a"]), (#"[{"id":"#, []),
        ])
    func stringsInElements(text: String, expected: [String]) {
        #expect(JSONValue(trusted: Array(text.utf8)).strings(namedInElements: "id") == expected)
    }

    @Test(
        "the first element of an array is found without the others",
        arguments: [
            ("[]", nil), ("[ ]", nil), ("{}", nil), ("1", nil), ("", nil), ("[", nil),
            (#"[ {"a":[1]} ,2]"#, #"{"a":[1]}"#),
            ("[1,2]", "1"), ("[[],2]", "[]"),
        ])
    func firstElement(text: String, expected: String?) {
        #expect(JSONValue(trusted: Array(text.utf8)).firstElement?.text == expected)
    }

    @Test("each level ends as it began, however deep", arguments: [1, 2, 63, 64, 65, 127, 128, 129, 200])
    func levels(_ depth: Int) throws {
        // Objects at every third level, so that no level is like the one 64 above it.
        let isObject = (0..<depth).map { $0 % 3 == 0 }
        let opening = isObject.map { $0 ? #"{"a":"# : "[" }.joined() + "1"
        var closing = isObject.reversed().map { $0 ? "}" : "]" }
        #expect(try JSONValue(parsing: opening + closing.joined()).kind == .object)
        for level in closing.indices {
            let right = closing[level]
            closing[level] = right == "}" ? "]" : "}"
            #expect(throws: JSONError.self) { try JSONValue(parsing: opening + closing.joined()) }
            closing[level] = right
        }
    }

    @Test("nesting is accepted up to the limit and refused beyond it, however deep")
    func nesting() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(try JSONValue(parsing: nested(512)).kind == .array)
        #expect(throws: JSONError.self) { try JSONValue(parsing: nested(513)) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: nested(1_000_000)) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: String(repeating: #"{"a":"#, count: 100_000)) }
    }

    @Test("members are found by name, escaped or not, and the last of two counts")
    func members() throws {
        let object = try #require(
            try JSONValue(parsing: #"{ "a" : 1, "b\u0063" : [ 1 , "x,]" ] , "a" : {"n":null} }"#).object)
        #expect(object["a"]?.text == #"{"n":null}"#)
        #expect(object["bc"]?.array?.map(\.text) == ["1", #""x,]""#])
        #expect(object["missing"] == nil)
        #expect(object.names == ["a", "bc", "a"])
    }

    @Test("scalars are read as their own type and as nothing else")
    func scalars() throws {
        #expect(try JSONValue(parsing: "42").int == 42)
        #expect(try JSONValue(parsing: "-9223372036854775808").int == .min)
        #expect(try JSONValue(parsing: "9223372036854775808").int == nil)
        #expect(try JSONValue(parsing: "1.0").int == nil)
        #expect(try JSONValue(parsing: "2.5").double == 2.5)
        #expect(try JSONValue(parsing: "\"5\"").int == nil)
        #expect(try JSONValue(parsing: #""\"\\\/\b\f\n\r\t\u00e9\ud83c\udf89""#).string == "\"\\/\u{8}\u{c}\n\r\té🎉")
        #expect(try JSONValue(parsing: "true").bool == true)
    }

    @Test("written values read back unchanged")
    func writing() throws {
        let text = "quote \" slash \\ tab \t line \n bell \u{7} é🎉"
        let value = JSONWriter.object {
            $0.member("text", text)
            $0.member("n", -5)
            $0.member("none", nil as String?)
            $0.member("raw", JSONValue(trusted: Array("[1, 2]".utf8)))
            $0.member("list", array: { for n in [1, 2] { $0.number(n) } })
            $0.members(of: JSONValue(trusted: Array(#"{"x":1,"y":2}"#.utf8)))
            $0.members(of: .emptyObject)
            // A service in another language may send anything.
            for text in ["null", "[1,2]", #""x""#, "7"] { $0.members(of: JSONValue(trusted: Array(text.utf8))) }
            $0.name("half")
            $0.number(0.5)
        }
        let object = try #require(try JSONValue(parsing: value.text).object)
        #expect(object["text"]?.string == text)
        #expect(object["n"]?.int == -5)
        #expect(object["none"]?.isNull == true)
        #expect(object["raw"]?.text == "[1, 2]")
        #expect(object["y"]?.int == 2)
        #expect(object["half"]?.double == 0.5)
    }

    @Test("a string ends at its quotation mark, whatever it contains and wherever in a machine word that is")
    func strings() throws {
        let pieces = [#"\""#, #"\\"#, "\\\"#", #"\\]"#, "é", "#", "]", #"\u0022"#]
        for length in 0...40 {
            for piece in pieces {
                for place in 0...length {
                    let (before, after) = (
                        String(repeating: "x", count: place), String(repeating: "y", count: length - place)
                    )
                    let text = "\"\(before)\(piece)\(after)\""
                    let array = try JSONValue(parsing: "[\(text),\(text)]").array
                    #expect(array?.map(\.text) == [text, text])
                    #expect(try JSONValue(parsing: "{\(text):\(text)}").object?.all.first?.value.text == text)
                    // Cut off, it is read to its end and not beyond.
                    _ = JSONValue(trusted: Array("[\(text)".utf8.dropLast(place + 1))).array
                }
            }
        }
    }
}
