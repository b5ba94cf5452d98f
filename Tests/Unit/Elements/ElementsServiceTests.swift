import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorElements

@Suite("The elements service on the bus")
struct ElementsServiceTests {
    @Test("every route and socket event is answered, and refused without a login")
    func manifest() async throws {
        try await ElementsHarness.serving { harness in
            let manifest = harness.service.manifest
            let limits = Set(manifest.limits.map(\.name))
            for subject in manifest.routes.map(\.subject) + manifest.socketEvents.map(\.subject) {
                let error = await #expect(throws: ServiceError.self) {
                    try await harness.ask(subject, JSONValue(parsing: #"{"roomId":"room-1"}"#))
                }
                #expect(error?.code == .unauthenticated)
            }
            let named = manifest.routes.flatMap(\.limits) + manifest.socketEvents.flatMap(\.limits)
            #expect(Set(named) == limits)
            #expect(manifest.hasEventLog && manifest.presenceSubject == "elements.presence")
            #expect(
                manifest.contribution?.fields.map(\.path) == [
                    "elementCount", "badges.elements", "unseenElementCount", "updatedAt",
                ])
        }
    }

    @Test(
        "a request that does not come from a gateway is refused",
        arguments: [
            ("contribute", #"{"roomIds":[]}"#), ("contribute", #"{"userId":"a","roomIds":[1]}"#),
            ("presence", #"{"isOpen":true,"rooms":[]}"#), ("presence", #"{"gateway":"g","rooms":[]}"#),
            ("presence", #"{"gateway":"g","isOpen":true}"#), ("presence", #"{"gateway":"g","isOpen":true,"rooms":{}}"#),
            ("presence", #"{"gateway":"g","isOpen":true,"rooms":[{"roomId":"a"}]}"#),
        ])
    func badRequests(name: String, json: String) async throws {
        try await ElementsHarness.serving { harness in
            let request = try JSONValue(parsing: json)
            await #expect(throws: ServiceError.self) { try await harness.ask("elements.\(name)", request) }
        }
    }

    @Test("a change's entry is in the log for subscribers that missed it")
    func log() async throws {
        try await ElementsHarness.serving { harness in
            _ = try await harness.create(#","content":{"a":1}"#)
            let emitted = try #require(harness.takeEntries().first)
            let reply = try await harness.ask("elements.events", JSONValue(parsing: #"{"since":0}"#))
            #expect(reply.data["entries"]?.array == [emitted.json])
        }
    }
}
