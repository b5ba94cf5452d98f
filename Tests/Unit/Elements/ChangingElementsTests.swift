import Contracts
import JSON
import Testing

@testable import Elements

@Suite("Changing and deleting elements")
struct ChangingElementsTests {
    @Test("what is given replaces what was there, the rest stays, and the update has its author, time and version")
    func update() async throws {
        try await ElementsWorld.serving { world in
            let made = try await world.create(#","content":{"a":1,"b":2},"position":{"x":0,"y":0},"tempId":"t""#)
            let id = try made.text("id")
            world.clock.advance(by: .milliseconds(5))
            let reply = try await world.ask(
                "elements.update", by: ElementsWorld.bob, #"{"elementId":"\#(id)","content":{"a":3}}"#)
            let changed = try #require(reply.data.object)
            #expect(reply.status == .ok && reply.position == StreamPosition(stream: "elements", seq: 2))
            #expect(changed["content"]?.text == #"{"a":3}"# && changed["position"] == made["position"])
            #expect(changed["createdBy"] == made["createdBy"] && changed["createdAt"] == made["createdAt"])
            #expect(changed["updatedBy"]?.string == ElementsWorld.bob)
            #expect(changed["updatedAt"]?.string == world.clock.now().iso)
            #expect(changed["version"]?.int == 2 && changed["tempId"] == made["tempId"])

            let moved = try await world.ask("elements.update", #"{"elementId":"\#(id)","position":{"x":7,"y":8.25}}"#)
            #expect(moved.data["position"]?.text == #"{"x":7,"y":8.25}"# && moved.data["content"] == changed["content"])
            let lifted = try await world.ask("elements.update", #"{"elementId":"\#(id)","position":null}"#)
            #expect(lifted.data["position"] == .null && lifted.data["version"]?.int == 4)
            #expect(try await world.list() == [lifted.data])
        }
    }

    @Test(
        "an update of nothing is refused, also of an element that is not there",
        arguments: [#""#, #","content":null"#, #","version":1"#])
    func nothingGiven(members: String) async throws {
        try await ElementsWorld.serving { world in
            let refusal = try await world.refusal("elements.update", #"{"elementId":"nonsense"\#(members)}"#)
            #expect(refusal?.code == .invalidField)
        }
    }

    @Test("a version that is not the current one conflicts, and changes nothing")
    func conflict() async throws {
        try await ElementsWorld.serving { world in
            let id = try await world.create().text("id")
            let changed = try await world.ask(
                "elements.update", #"{"elementId":"\#(id)","content":{"n":1},"version":1}"#)
            _ = world.takeEntries()
            for version in [1, 3, 0, -1] {
                let refusal = try await world.refusal(
                    "elements.update", #"{"elementId":"\#(id)","content":{"n":2},"version":\#(version)}"#)
                #expect(refusal?.code == .versionConflict)
            }
            let wrong = try await world.refusal(
                "elements.update", #"{"elementId":"\#(id)","content":{},"version":"2"}"#)
            #expect(wrong?.code == .malformedRequest)
            #expect(try await world.list() == [changed.data])
            #expect(world.takeEntries().isEmpty)
        }
    }

    @Test("of many updates at once from one version, one wins")
    func race() async throws {
        try await ElementsWorld.serving { world in
            let id = try await world.create().text("id")
            let wins = try await withThrowingTaskGroup(of: Bool.self) { group in
                for n in 0..<20 {
                    group.addTask {
                        try await world.refusal(
                            "elements.update", #"{"elementId":"\#(id)","content":{"n":\#(n)},"version":1}"#) == nil
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(wins == 1)
        }
    }

    @Test("any participant deletes an element, once")
    func delete() async throws {
        try await ElementsWorld.serving { world in
            let kept = try await world.create().text("id")
            let gone = try await world.create().text("id")
            let request = #"{"elementId":"\#(gone)","content":{}}"#
            let reply = try await world.ask("elements.delete", by: ElementsWorld.bob, request)
            #expect(reply.status == .noContent && reply.position == StreamPosition(stream: "elements", seq: 3))
            #expect(try await world.list().map { $0["id"]?.string } == [kept])
            _ = world.takeEntries()
            #expect(try await world.refusal("elements.delete", request) == .elementNotFound)
            #expect(try await world.refusal("elements.update", request) == .elementNotFound)
            #expect(world.takeEntries().isEmpty)
        }
    }

    @Test("an element is found in its own room only")
    func otherRoom() async throws {
        try await ElementsWorld.serving { world in
            let element = try await world.create()
            let request = #"{"elementId":"\#(try element.text("id"))","content":{}}"#
            for subject in ["elements.update", "elements.delete"] {
                let refusal = try await world.refusal(subject, in: ElementsWorld.otherRoom, request)
                #expect(refusal == .elementNotFound)
            }
            #expect(try await world.list().count == 1)
        }
    }

    @Test("clearing empties one room and says of how many; an empty one stays as it is and nobody is told")
    func clear() async throws {
        try await ElementsWorld.serving { world in
            let kept = try await world.create(in: ElementsWorld.otherRoom).text("id")
            for _ in 0..<4 { _ = try await world.create() }
            let reply = try await world.ask("elements.clear", by: ElementsWorld.bob)
            #expect(reply.data.text == #"{"deletedCount":4}"#)
            #expect(reply.position == StreamPosition(stream: "elements", seq: 6))
            #expect(try await world.list().isEmpty)
            #expect(try await world.list(in: ElementsWorld.otherRoom).map { $0["id"]?.string } == [kept])

            let before = try await world.contribution(for: ElementsWorld.alice)
            _ = world.takeEntries()
            world.clock.advance(by: .seconds(60))
            let again = try await world.ask("elements.clear")
            #expect(again.data.text == #"{"deletedCount":0}"# && again.position == nil)
            #expect(world.takeEntries().isEmpty)
            let after = try await world.contribution(for: ElementsWorld.alice)
            #expect(before?.updatedAt == after?.updatedAt)
        }
    }

    @Test("a clock that goes back takes no time and no order back")
    func clockGoesBack() async throws {
        try await ElementsWorld.serving { world in
            let first = try await world.create()
            world.clock.advance(by: .seconds(-3600))
            let second = try await world.create()
            #expect(second["createdAt"] == first["createdAt"])
            let ids = [try first.text("id"), try second.text("id")]
            #expect(ids.sorted() == ids)
            #expect(try await world.list().map { $0["id"]?.string } == ids)
        }
    }
}
