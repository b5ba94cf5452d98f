import ParlorJSON
import ParlorTestSupport
import Testing

@Suite("Truncated, malformed and random JSON")
struct JSONHostileTests {
    /// Every kind of value, escape and length of a scalar, with white space where it may stand.
    private static let whole = Array(
        #" { "a" : [ 1 , -2.5e+3, true,false, null, {} , [] ] , "\u00e9\ud83c\udf89\\" : "é🎉\n\"x" , "€": {"n":0} } "#
            .utf8
    )

    /// Reads a value, valid or not, in every way: nothing may crash, and every result lies within
    /// the bytes.
    private func readAll(_ value: JSONValue, depth: Int = 0) {
        _ = (value.kind, value.string, value.int, value.double, value.bool)
        guard depth < 4 else { return }
        if let object = value.object {
            #expect(object.names.count == object.all.count)
            for (name, member) in object.all {
                #expect(member.bytes.count <= value.bytes.count)
                #expect(object[name] != nil)
                readAll(member, depth: depth + 1)
            }
        }
        for element in value.array ?? [] { readAll(element, depth: depth + 1) }
    }

    @Test("a text truncated anywhere is refused at an offset within it, and reads stay within bounds")
    func truncated() throws {
        let end = Self.whole.count - 1
        let value = try JSONValue(parsing: Self.whole)
        #expect(value.bytes.elementsEqual(Self.whole[1..<end]))
        for count in 0..<end {
            let part = Self.whole.prefix(count)
            let error = #expect(throws: JSONError.self) { try JSONValue(parsing: part) }
            #expect((0...count).contains(error?.offset ?? -1))
            readAll(JSONValue(trusted: part))
        }
    }

    @Test("a slice of a longer text is read like a text of its own")
    func slices() throws {
        let text = Array("xx".utf8) + Self.whole + Array("xx".utf8)
        let slice = try JSONValue(parsing: text[2..<text.count - 2])
        #expect(try slice == JSONValue(parsing: Self.whole))
        #expect(slice["a"]?.array?.count == 7 && slice["é🎉\\"]?.string == "é🎉\n\"x")
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text[1..<text.count]) }
        #expect(error?.offset == 0, "counted from where the text starts")
    }

    @Test("a text with one byte changed is refused, or read to its end")
    func mutated() {
        for index in Self.whole.indices {
            for byte in [0, 0x1F, 0x22, 0x2C, 0x5C, 0x5D, 0x7B, 0x7D, 0x80, 0xC0, 0xED, 0xF5, 0xFF] as [UInt8] {
                var text = Self.whole
                text[index] = byte
                readAll(JSONValue(trusted: text))
                guard let value = try? JSONValue(parsing: text) else { continue }  // refusing is as good
                readAll(value)
            }
        }
    }

    @Test(
        "random bytes that are accepted are the same when read and written again", arguments: 0..<8 as Range<UInt64>)
    func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pieces =
            [
                "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "d83c", "00e9", "\"a\":", "1", "-", "0", ".5", "e",
                "true",
                "null", " ", "\n", "é", "\u{1}",
            ].map { Array($0.utf8) } + [[0x80], [0xC3], [0xF0, 0x9F], [0xFF]]
        for _ in 0..<4_000 {
            let text = (0..<Int.random(in: 0..<12, using: &random)).flatMap { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }
            readAll(JSONValue(trusted: text))
            guard let value = try? JSONValue(parsing: text) else { continue }  // refusing is as good
            readAll(value)
            #expect(String(validating: value.bytes, as: UTF8.self) != nil)
            #expect(try rewritten(value).text.filter { !$0.isWhitespace } == rewritten(rewritten(value)).text)
        }
    }

    /// Returns the same value, taken apart and put together.
    private func rewritten(_ value: JSONValue) throws -> JSONValue {
        let written = JSONWriter.value { rewrite(value, to: &$0) }
        return try JSONValue(parsing: written.bytes)
    }

    private func rewrite(_ value: JSONValue, to json: inout JSONWriter) {
        if let object = value.object {
            json.object { json in
                for (name, member) in object.all {
                    json.name(name)
                    rewrite(member, to: &json)
                }
            }
        } else if let elements = value.array {
            json.array(of: elements) { rewrite($1, to: &$0) }
        } else if let text = value.string {
            json.string(text.filter { !$0.isWhitespace })
        } else {
            json.value(value)
        }
    }
}
