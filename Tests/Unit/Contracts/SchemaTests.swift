import ParlorContracts
import ParlorJSON
import ParlorTestSupport
import Testing

@Suite("Schemas and descriptions")
struct SchemaTests {
    private func schema(_ text: String) throws -> Schema? { Schema(try JSONValue(parsing: text)) }

    @Test("a schema is JSON Schema")
    func written() {
        let point = Schema.named("Point", .object(["x": .number], optional: ["y": Schema.number.orNull]))
        let expected =
            #"{"type":"object","properties":{"x":{"type":"number"},"y":{"type":["number","null"]}},"required":["x"]}"#
        #expect(point.definitions["Point"]?.json.text == expected)
        #expect(point.json.text == #"{"$ref":"Point"}"#)
        #expect(
            Schema.array(of: point, count: 1...3).json.text
                == ##"{"type":"array","minItems":1,"maxItems":3,"items":{"$ref":"Point"}}"##)
        #expect(point.orNull.json.text == ##"{"anyOf":[{"$ref":"Point"},{"type":"null"}]}"##)
        #expect(point.noted("Where.").json.text == ##"{"description":"Where.","allOf":[{"$ref":"Point"}]}"##)
        #expect(Schema.map(of: .any).json.text == #"{"type":"object","additionalProperties":{}}"#)
        #expect(Schema.choice(["a", "b"]).json.text == #"{"type":"string","enum":["a","b"]}"#)
        #expect(Schema.array(of: point).definitions == point.definitions)
    }

    @Test("a description that crosses the bus is the same")
    func crossing() throws {
        let roll = Schema.named("Roll", .object(["face": .integer(1...6), "at": Schema.time.orNull]))
        let own = try #require(ErrorCode(ownName: "no_dice", status: 409))
        let description = ServiceDescription(
            requests: [
                "dice.roll": RequestDescription(
                    "Rolls.", takes: .object(["roomId": .id], optional: ["dice": .integer(from: 1)]), gives: roll,
                    statuses: [.created, .ok], errors: [.roomNotFound, own]),
                "dice.list": RequestDescription("Lists.", gives: .array(of: roll), isPaged: true),
                "dice.clear": RequestDescription("Clears."),
            ],
            events: [EventDescription("dice:rolled", to: .everyone, "A die was rolled.", .object(["roll": roll]))],
            fields: ["lastRoll": .anyOf([roll, .null])])
        let crossed = try #require(ServiceDescription(description.json))
        #expect(crossed.json == description.json)
        #expect(crossed.requests["dice.roll"]?.errors == [.roomNotFound, own])
        #expect(crossed.requests["dice.clear"]?.statuses == [204])
        #expect(crossed.schemas.keys.sorted() == ["Roll"])
    }

    @Test(
        "what is malformed or unknown in a schema is left out, so that it accepts more",
        arguments: [
            (#"{"type":"banana","minLength":-1,"pattern":"((","x-y":1,"description":7}"#, "{}"),
            (#"{"type":["string","string"],"enum":[],"maximum":"x"}"#, "{}"),
            (
                #"{"type":"object","properties":{"a":true,"b":{"type":"null"}},"required":["b","c",1]}"#,
                #"{"type":"object","properties":{"a":{},"b":{"type":"null"}},"required":["b"]}"#
            ),
            (
                #"{"properties":{"a":true},"additionalProperties":{"type":"null"}}"#,
                #"{"properties":{"a":{}},"additionalProperties":{"type":"null"}}"#
            ),
            (#"{"oneOf":[{"type":"string"},{"const":7}]}"#, #"{"anyOf":[{"type":"string"},{"const":7}]}"#),
            (##"{"const":{"$ref":"#/a"},"items":{"enum":[1,{"$ref":"file:///a"}]}}"##, #"{"items":{}}"#),
            (#"{"anyOf":[{"type":"string"},7]}"#, "{}"), (#"{"$ref":"A","type":"string"}"#, #"{"$ref":"A"}"#),
            (
                #"{"properties":{"a":{"type":"string"},"a":{"type":"null"}}}"#,
                #"{"properties":{"a":{"type":"string"}}}"#
            ),
        ])
    func cleaned(_ given: String, _ kept: String) throws {
        #expect(try schema(given)?.json.text == kept)
    }

    @Test("what is no schema is none", arguments: ["7", "true", "null", "[]", ##"{"$ref":"#/components/x"}"##])
    func none(_ given: String) throws { #expect(try schema(given) == nil) }

    @Test("a schema that is nested too deeply ends at the limit")
    func deep() throws {
        let text = String(repeating: #"{"items":"#, count: 200) + "{}" + String(repeating: "}", count: 200)
        let json = try #require(try schema(text)?.json.text)
        #expect(json == String(repeating: #"{"items":"#, count: 23) + "{}" + String(repeating: "}", count: 23))
    }

    @Test("a description that is no object, or too long, is none; its malformed parts are left out")
    func malformed() throws {
        let long = JSONWriter.object { $0.member("x", String(repeating: "x", count: ServiceDescription.maxBytes)) }
        #expect(ServiceDescription(long) == nil && ServiceDescription(.emptyArray) == nil)
        let odd = try JSONValue(
            parsing: """
                {"requests":{"a":7,"b":{"summary":[],"takes":"x","statuses":[999,200,200],"errors":{"x":500,"forbidden":1,"UP":404}}},
                "events":[{"event":"e"},{"event":"e","to":"nobody"},{"event":"e","to":"room","data":9}],
                "fields":[],"schemas":{"a b":{},"A":{"type":"string"}}}
                """)
        let read = try #require(ServiceDescription(odd))
        #expect(Array(read.requests.keys) == ["b"])
        #expect(read.requests["b"]?.statuses == [200] && read.requests["b"]?.errors == [.forbidden])
        #expect(read.events == [EventDescription("e", to: .room, "", .any)])
        #expect(read.fields.isEmpty && Array(read.schemas.keys) == ["A"])
    }

    @Test("a schema that leads back to itself for the same value is left out; one of a tree is kept")
    func circles() throws {
        let given = try JSONValue(
            parsing: """
                {"schemas":{"A":{"$ref":"A"},"B":{"allOf":[{"anyOf":[{"$ref":"C"}]}]},"C":{"$ref":"B"},"D":{"$ref":"E"},
                "E":{"type":"array","items":{"$ref":"E"}},"F":{"$ref":"elsewhere"}}}
                """)
        #expect(ServiceDescription(given)?.schemas.keys.sorted() == ["D", "E", "F"])
    }

    @Test("random changes of a description never crash, and what is read is written as JSON")
    func random() throws {
        var random = SeededGenerator(seed: 7)
        let roll = Schema.named("Roll", .object(["face": .integer(1...6)], optional: ["of": .array(of: .string)]))
        let description = ServiceDescription(
            requests: ["d.roll": RequestDescription("Rolls.", takes: .object(["n": .integer]), gives: roll.orNull)],
            events: [EventDescription("d:rolled", to: .room, "Rolled.", roll)])
        let original = Array(description.json.bytes)
        let pieces = ["{}", "[]", "7", "null", "true", #""x""#, #"{"$ref":"Roll"}"#].map { Array($0.utf8) }
        var read = 0
        for _ in 0..<2000 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let start = Int.random(in: 0..<bytes.count, using: &random)
                let end = min(bytes.count, start + Int.random(in: 0...8, using: &random))
                bytes.replaceSubrange(start..<end, with: pieces.randomElement(using: &random) ?? [])
            }
            guard let json = try? JSONValue(parsing: bytes), let changed = ServiceDescription(json) else { continue }
            read += 1
            _ = try JSONValue(parsing: Array(changed.json.bytes))
        }
        #expect(read > 10)
    }
}
