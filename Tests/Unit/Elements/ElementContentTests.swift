import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorElements

@Suite("An element's content")
struct ElementContentTests {
    /// Returns an object of exactly so many bytes.
    private func object(ofBytes count: Int, after name: String = #"{"data":"#) -> String {
        name + "\"" + String(repeating: "x", count: count - #"{"data":""}"#.utf8.count) + "\"}"
    }

    private func code(_ json: String) throws -> ErrorCode? {
        let given = try JSONValue(parsing: json, maxDepth: 2000)
        do throws(ServiceError) {
            _ = try ElementContent(given)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("it may have 64 KiB, and not a byte more")
    func size() throws {
        #expect(try code(object(ofBytes: 65_536)) == nil)
        #expect(try code(object(ofBytes: 65_537)) == .payloadTooLarge)
    }

    @Test("white space between tokens does not count, and is not stored")
    func whiteSpace() throws {
        #expect(try code(object(ofBytes: 65_536, after: "{ \n\t\"data\" :\r")) == nil)
        #expect(try code(object(ofBytes: 65_537, after: "{ \n\t\"data\" :\r")) == .payloadTooLarge)
        let content = try ElementContent(JSONValue(parsing: #" { "a b" : [ 1.0 , "c \" d\\" , { } ] } "#))
        #expect(content.json.text == #"{"a b":[1.0,"c \" d\\",{}]}"#)
    }

    @Test("white space inside a string counts")
    func whiteSpaceInStrings() throws {
        let spaces = String(repeating: " ", count: 65_536)
        #expect(try code(#"{"data":"\#(spaces)"}"#) == .payloadTooLarge)
    }

    @Test(
        "everything else is kept as written",
        arguments: [
            #"{"b":1,"a":2,"b":3}"#, #"{"n":[1e2,-0,1.50,123456789012345678901234567890,1e300]}"#,
            #"{"":"","\u00e9\ud83c\udf89":"é🎉","/":"\/"}"#, #"{"\u0000":"\u0000"}"#, "{}",
        ])
    func faithful(json: String) throws {
        #expect(try ElementContent(JSONValue(parsing: json)).json.text == json)
    }

    @Test("256 levels of nesting are allowed, and brackets in strings do not count")
    func depth() throws {
        func nested(_ levels: Int) -> String {
            #"{"[[{":"# + String(repeating: "[", count: levels - 1) + String(repeating: "]", count: levels - 1) + "}"
        }
        #expect(try code(nested(256)) == nil)
        #expect(try code(nested(257)) == .invalidField)
    }

    @Test("it must be an object", arguments: ["[]", "1", "\"{}\"", "true"])
    func kind(json: String) throws {
        #expect(try code(json) == .malformedRequest)
    }
}
