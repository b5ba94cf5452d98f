import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import Testing

@Suite("declared fields of a request")
struct FieldsTests {
    private static let move = Fields(
        .text("title", length: 1...5, trimmed: true), .optional(.integer("steps"), or: 1), .optional(.bool("isFast")),
        .clearable(.strings("tags", count: 0...2)), .either(.string("to"), or: .string("target")))

    private static func read(_ json: String) throws(ServiceError) -> (String, Int, Bool?, [String]??, String) {
        guard let data = try? JSONValue(parsing: json) else { throw ServiceError(.internal, "no JSON") }
        return try move.read(RequestFields(data))
    }

    @Test("values come in the order of the declaration, and other fields are ignored")
    func values() throws {
        let read = try Self.read(#"{"isFast":true,"to":"b","title":" a ","tags":["x"],"steps":3,"other":[1]}"#)
        #expect(read.0 == "a" && read.1 == 3 && read.2 == true && read.3 == ["x"] && read.4 == "b")
    }

    @Test("what may be left out has its default, also if it is null")
    func leftOut() throws {
        for json in [#"{"title":"a","to":"b"}"#, #"{"title":"a","to":"b","steps":null,"isFast":null}"#] {
            let read = try Self.read(json)
            #expect(read.1 == 1 && read.2 == nil && read.3 == .none)
        }
    }

    @Test("a null clears a clearable field")
    func cleared() throws {
        #expect(try Self.read(#"{"title":"a","to":"b","tags":null}"#).3 == .some(nil))
    }

    @Test("an older name is read if only that is given")
    func olderName() throws {
        #expect(try Self.read(#"{"title":"a","target":"b"}"#).4 == "b")
        #expect(try Self.read(#"{"title":"a","target":7,"to":"b"}"#).4 == "b")
        let error = #expect(throws: ServiceError.self) { try Self.read(#"{"title":"a"}"#) }
        #expect(error?.code == .invalidField && error?.message.contains("`to`") == true)
    }

    @Test(
        "the first wrong field is the error",
        arguments: [
            (#"{"steps":"x"}"#, "title", ErrorCode.invalidField),
            (#"{"title":7,"steps":"x"}"#, "title", .malformedRequest),
            (#"{"title":"a","steps":"x"}"#, "steps", .malformedRequest),
            (#"{"title":"a","to":"b","tags":["x","y","z"]}"#, "tags", .invalidField),
        ])
    func wrong(json: String, name: String, code: ErrorCode) {
        let error = #expect(throws: ServiceError.self) { try Self.read(json) }
        #expect(error?.code == code && error?.message.contains("`\(name)`") == true)
    }

    @Test("the documents show what is read, and what is required")
    func described() {
        let shown = RequestDescription("Moves.", takes: Self.move).takes.members
        #expect(shown.map(\.name) == ["title", "steps", "isFast", "tags", "to", "target"])
        #expect(shown.filter(\.isRequired).map(\.name) == ["title"])
        #expect(shown[3].schema == Schema.array(of: .string, count: 0...2).orNull.noted("Null clears it."))
    }

    @Test("a single field is its value, and no field is no member")
    func few() throws {
        let fields = try RequestFields(JSONValue(parsing: #"{"key":" a "}"#))
        #expect(try Fields(.key("key", note: "Kept for ever.")).read(fields) == " a ")
        #expect(Fields().schema == .object())
    }

    @Test("an idempotency key has 1 to 64 characters, none of them a control character")
    func keys() {
        let key = Fields(.key("key", note: ""))
        func code(_ text: String) -> ErrorCode? {
            let data = JSONWriter.object { $0.member("key", text) }
            do throws(ServiceError) { _ = try key.read(RequestFields(data)) } catch { return error.code }
            return nil
        }
        #expect(code("") == .invalidField && code("a\u{0}") == .invalidField)
        #expect(code(" ") == nil && code(String(repeating: "🎉", count: 64)) == nil)
        #expect(code(String(repeating: "a", count: 65)) == .invalidField)
    }
}
