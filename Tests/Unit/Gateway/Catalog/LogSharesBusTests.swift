import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Testing

@testable import ParlorGatewayCatalog

@Suite("Requests to the instance that serves a room's log")
struct LogSharesBusTests {
    private let inner = FakeBus(hasKeyAffinity: false)
    private let layout = LogLayout(generation: 1, count: 4)

    private var bus: LogSharesBus {
        LogSharesBus(inner) { [layout] in $0 == "notes" ? layout : .single }
    }

    private func ask(_ subject: String, key: String?) async throws -> String? {
        try await bus.request(subject, .emptyObject, BusContext(requestID: "test", key: key)).json.string
    }

    private func serve(_ pattern: String) throws {
        try inner.respond(to: pattern, queue: "notes") { $0.reply(JSONValue($0.subject)) }
    }

    @Test("a request in a room has the number of the room's log in its subject")
    func shared() async throws {
        try serve("notes.>")
        for room in ["room", "another", "é"] {
            #expect(try await ask("notes.write", key: room) == "notes.\(layout.number(ofRoom: room)).write")
        }
    }

    @Test("if no instance serves the log, any gets the request")
    func nobody() async throws {
        try serve("notes.write")
        #expect(try await ask("notes.write", key: "room") == "notes.write")
        await #expect(throws: BusError.noResponders) { try await ask("notes.read", key: "room") }
    }

    @Test("a request that only reads or has no key, or to a service with one log, stays as it is")
    func others() async throws {
        try serve("notes.write")
        try serve("rooms.rename")
        #expect(try await ask("notes.write", key: nil) == "notes.write")
        #expect(try await ask("rooms.rename", key: "room") == "rooms.rename")
        let reading = BusContext(requestID: "test", key: "room", isRepeatable: true)
        _ = try await bus.request("notes.write", .emptyObject, reading)
        #expect(inner.requested.items == ["notes.write", "rooms.rename", "notes.write"])
    }
}
