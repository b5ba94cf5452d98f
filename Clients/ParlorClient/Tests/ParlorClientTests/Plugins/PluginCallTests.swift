import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of calls to routes and socket events for which the library has no method.
@Suite("Calls of plugins", .timeLimit(.minutes(1)))
struct PluginCallTests {
    private struct Poll: Codable, Equatable, Sendable {
        var id: String
        var endsAt: Date?
    }

    private let polls = ["api", "rooms", "a/b", "polls"]

    private func api(
        _ steps: ScriptedHTTP.Step..., tokens: ListedTokens = ListedTokens()
    ) -> (RoomsAPI, ScriptedHTTP) {
        let server = ScriptedHTTP(steps)
        return (RoomsAPI(transport: server, tokens: tokens, makeRequestID: { "q1" }), server)
    }

    @Test("a call escapes its path, leaves out a query without a value, encodes its body, and decodes its answer")
    func calls() async throws {
        let (api, server) = api(
            .answer("POST /api/rooms/a%2Fb/polls?q=1 & 2", #"{"data":{"id":"p1"}}"#, status: 201),
            .answer("GET /dice", #"{"data":[1,{"a":null}]}"#),
            .answer("PUT /api/rooms/a%2Fb/polls", #"{"data":null}"#),
            .answer("DELETE /api/rooms/a%2Fb/polls/p1", "", status: 204))
        let poll = Poll(id: "p1", endsAt: someTime)
        let made: Poll = try await api.call("POST", polls, query: [("q", "1 & 2"), ("none", nil)], body: poll)
        #expect(made == Poll(id: "p1"))
        #expect(try await api.call("GET", ["dice"]) == .array([.integer(1), ["a": .null]]))
        #expect(try await api.call("PUT", polls, body: JSON.object(["a": .bool(true)])) == .null)
        #expect(try await api.call("DELETE", polls + ["p1"]) == .null)
        let requests = await server.requests
        #expect(
            requests.map { $0.body.map { String(decoding: $0, as: UTF8.self) } } == [
                #"{"endsAt":"2024-12-17T09:45:00.000Z","id":"p1"}"#, nil, #"{"a":true}"#, nil,
            ])
        #expect(requests.allSatisfy { $0.headers["Authorization"] == "Bearer t1" })
        #expect(await server.missing.isEmpty)
    }

    @Test("a list comes in pages, each with the services that did not answer")
    func pages() async throws {
        let (api, _) = api(
            .answer(
                "GET /api/rooms/a%2Fb/polls?limit=1",
                #"{"data":[{"id":"p1"}],"page":{"next":"c"},"degraded":["dice"]}"#),
            .answer("GET /api/rooms/a%2Fb/polls?cursor=c", #"{"data":[],"page":{"next":null}}"#))
        let page = try await api.callPage(polls, query: [("limit", "1")], of: Poll.self)
        #expect(page == Page(items: [Poll(id: "p1")], next: "c", degraded: ["dice"]))
        let last: Page<Poll> = try await api.callPage(polls, query: [("cursor", page.next)])
        #expect(last == Page(items: []))
    }

    @Test("a refused token is replaced once; a service's own refusal, and data of another form, are thrown")
    func failures() async throws {
        let tokens = ListedTokens(replacements: [.success("t2")])
        let (api, _) = api(
            .refusal("GET /api/polls", 401, "unauthenticated"), .answer("GET /api/polls", #"{"data":7}"#),
            .refusal("GET /api/polls", 409, "poll_closed"), .offline("GET /api/polls"),
            .answer("GET /api/polls", #"{"data":7}"#), tokens: tokens)
        #expect(try await api.call("GET", ["api", "polls"]) == .integer(7))
        let refused = await #expect(throws: ClientFailure.self) { try await api.call("GET", ["api", "polls"]) }
        #expect(refused?.code == "poll_closed")
        let offline = await #expect(throws: ClientFailure.self) { try await api.call("GET", ["api", "polls"]) }
        #expect(offline == .offline("no network"), "it is not repeated")
        let other = await #expect(throws: ClientFailure.self) {
            try await api.call("GET", ["api", "polls"], as: Poll.self)
        }
        #expect(other?.code == "unreadable")
    }

    @Test(
        "a path that would name another route calls none",
        arguments: ["", ".", ".."].map { ["api", "rooms", $0, "polls"] } + [[]])
    func dots(path: [String]) async {
        let (api, server) = api()
        let failure = await #expect(throws: ClientFailure.self) { try await api.call("GET", path) }
        #expect(failure?.code == "route_not_found")
        #expect(await server.requests.isEmpty)
    }

    @MainActor
    @Test("an event's payload is encoded, and its ack decoded")
    func emitting() async throws {
        struct Vote: Encodable {
            let pollId = "p1"
        }
        struct Ack: Decodable {
            let poll: Poll
        }
        let harness = try SocketHarness()
        let connection = await harness.connected()
        let voting = Task { try await harness.socket.emit("poll:vote", Vote(), as: Ack.self).poll }
        #expect(await connection.received() == #"420["poll:vote",{"pollId":"p1"}]"#)
        await connection.sends(#"430[{"success":true,"poll":{"id":"p1","endsAt":"2024-12-17T09:45:00.000Z"}}]"#)
        #expect(try await voting.value == Poll(id: "p1", endsAt: someTime))
        let other = Task { try await harness.socket.emit("poll:vote", JSON.object([:]), as: Ack.self) }
        _ = await connection.received()
        await connection.sends(#"431[{"success":true}]"#)
        await #expect(throws: ClientFailure.self) { try await other.value }
        await harness.socket.stop()
    }
}
