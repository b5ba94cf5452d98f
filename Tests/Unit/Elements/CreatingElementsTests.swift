import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorElements

@Suite("Creating elements")
struct CreatingElementsTests {
    @Test("an element has the content sent, its author and a version, and its answer has its entry's position")
    func create() async throws {
        try await ElementsHarness.serving { harness in
            let sent =
                #"{"type":"sticky-note_2","content":{"b":[1,2.50,"é🎉"],"a":1e2},"position":{"x":1.5,"y":-20,"z":3},"tempId":"t"}"#
            let reply = try await harness.ask("elements.create", sent)
            let element = try #require(reply.data.object)
            #expect(reply.status == .created && !reply.isDuplicate)
            #expect(reply.position == EntryPosition(log: "elements", seq: 1))
            #expect(element["type"]?.string == "sticky-note_2")
            #expect(element["content"]?.text == #"{"b":[1,2.50,"é🎉"],"a":1e2}"#)
            #expect(element["position"]?.text == #"{"x":1.5,"y":-20}"#)
            #expect(
                element["createdBy"]?.string == ElementsHarness.alice
                    && element["updatedBy"]?.string == ElementsHarness.alice)
            #expect(element["createdAt"]?.string == harness.clock.now().iso)
            #expect(element["updatedAt"] == element["createdAt"])
            #expect(element["version"]?.int == 1 && element["tempId"]?.string == "t")
            #expect(element["roomId"]?.string == ElementsHarness.room)
            #expect(try await harness.list() == [reply.data])
        }
    }

    @Test("only a type is needed")
    func defaults() async throws {
        try await ElementsHarness.serving { harness in
            let element = try await harness.create(#","content":null,"position":null"#)
            #expect(element["content"] == .emptyObject)
            #expect(element["position"] == .null && element["tempId"] == .null)
        }
    }

    @Test(
        "invalid input is refused with its own error, and nothing is stored or emitted",
        arguments: [
            (#"{}"#, ErrorCode.invalidField), (#"{"type":1}"#, .malformedRequest),
            (#"{"type":""}"#, .invalidField), (#"{"type":"A"}"#, .invalidField), (#"{"type":"_a"}"#, .invalidField),
            (#"{"type":"a b"}"#, .invalidField), (#"{"type":"a\n"}"#, .invalidField), (#"{"type":"é"}"#, .invalidField),
            (#"{"type":"aaaaaaaaaabbbbbbbbbbccccccccccddd"}"#, .invalidField),
            (#"{"type":"a","content":[]}"#, .malformedRequest), (#"{"type":"a","content":"x"}"#, .malformedRequest),
            (#"{"type":"a","position":[1,2]}"#, .malformedRequest),
            (#"{"type":"a","position":{"x":"1","y":2}}"#, .malformedRequest),
            (#"{"type":"a","position":{"x":1}}"#, .invalidField),
            (#"{"type":"a","tempId":7}"#, .malformedRequest), (#"{"type":"a","tempId":""}"#, .invalidField),
            (#"{"type":"a","tempId":"\u0000"}"#, .invalidField),
        ])
    func refusals(json: String, code: ErrorCode) async throws {
        try await ElementsHarness.serving { harness in
            let refusal = try await harness.refusal("elements.create", json)
            #expect(refusal?.code == code)
            #expect(try await harness.list().isEmpty)
            #expect(harness.takeEntries().isEmpty)
        }
    }

    @Test(
        "a number that the edge refuses is no coordinate for a service on the bus either",
        arguments: ["1e400", "0." + String(repeating: "1", count: JSONValue.maxNumberLength)])
    func unboundedNumber(digits: String) async throws {
        let json = #"{"roomId":"\#(ElementsHarness.room)","type":"a","position":{"x":\#(digits),"y":1}}"#
        let data = try JSONValue(parsing: Array(json.utf8), isBounded: false)
        try await ElementsHarness.serving { harness in
            let refusal = await harness.refusal("elements.create", by: Caller(ElementsHarness.alice), data)
            #expect(refusal?.code == .invalidField)
        }
    }

    @Test("another's room shows no elements, and looks like one that does not exist")
    func authorisation() async throws {
        try await ElementsHarness.serving { harness in
            let id = try await harness.create().text("id")
            let request = #"{"type":"note","elementId":"\#(id)","content":{}}"#
            for subject in ["create", "update", "delete", "clear", "list"].map({ "elements.\($0)" }) {
                let foreign = try await harness.refusal(subject, by: ElementsHarness.carol, request)
                #expect(foreign == .roomNotFound)
                #expect(try await harness.refusal(subject, in: "nowhere", request) == foreign)
            }
        }
    }

    @Test("a repeated key returns the first element, also with other content, and writes nothing")
    func duplicate() async throws {
        try await ElementsHarness.serving { harness in
            let first = try await harness.ask("elements.create", #"{"type":"note","content":{"n":1},"tempId":"key"}"#)
            #expect(harness.takeEntries().count == 1)
            harness.clock.advance(by: .seconds(1))
            let again = try await harness.ask("elements.create", #"{"type":"card","content":{"n":2},"tempId":"key"}"#)
            #expect(again.status == .ok && again.isDuplicate && again.data == first.data)
            #expect(again.position == first.position, "it may not come before the event that it repeats")
            #expect(harness.takeEntries().isEmpty)
            #expect(try await harness.list().count == 1)
            #expect(try await harness.badge(of: ElementsHarness.bob) == 1)
            #expect(try await harness.contribution(for: ElementsHarness.bob)?.updatedAt == 1_700_000_000_000)
        }
    }

    @Test("a key is scoped to its sender and its room")
    func keys() async throws {
        try await ElementsHarness.serving { harness in
            let key = #","tempId":"key""#
            let ids = [
                try await harness.create(key).text("id"),
                try await harness.create(by: ElementsHarness.bob, key).text("id"),
                try await harness.create(in: ElementsHarness.otherRoom, key).text("id"),
            ]
            #expect(Set(ids).count == 3)
        }
    }

    @Test("one of many concurrent creations with one key creates an element")
    func race() async throws {
        try await ElementsHarness.serving { harness in
            let replies = try await withThrowingTaskGroup(of: Reply.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await harness.ask("elements.create", #"{"type":"note","tempId":"key"}"#) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(replies.filter { $0.status == .created }.count == 1)
            #expect(Set(replies.map(\.data)).count == 1)
            #expect(harness.takeEntries().count == 1)
        }
    }

    @Test("a late retry does not bring a deleted element back", arguments: ["delete", "clear"])
    func lateRetry(how: String) async throws {
        try await ElementsHarness.serving { harness in
            let id = try await harness.create(#","tempId":"key""#).text("id")
            _ = try await harness.ask("elements.\(how)", #"{"elementId":"\#(id)"}"#)
            _ = harness.takeEntries()
            let refusal = try await harness.refusal("elements.create", #"{"type":"note","tempId":"key"}"#)
            #expect(refusal == .elementNotFound)
            #expect(try await harness.list().isEmpty)
            #expect(harness.takeEntries().isEmpty)
        }
    }
}
