import ParlorContracts
import ParlorJSON
import ParlorTestSupport
import Testing

@Suite("The documents on a running gateway", .timeLimit(.minutes(1)))
struct ServingTests {
    @Test("anyone gets the document, with a tag, and 304 for that tag", arguments: ["openapi", "asyncapi"])
    func served(_ name: String) async throws {
        try await GatewayHarness.run { harness in
            let path = "/api/\(name).json"
            let first = try await harness.request("GET", path, as: nil)
            #expect(first.status == 200 && first.header("Content-Type") == "application/json")
            #expect(try first.json[name]?.string?.hasPrefix("3.") == true)
            let tag = try #require(first.header("ETag"))
            let again = try await harness.request("GET", path, as: nil, headers: ["If-None-Match: \(tag)"])
            #expect(again.status == 304 && again.body.isEmpty && again.header("ETag") == tag)
            let post = try await harness.request("POST", path, as: nil, body: "{}")
            #expect(post.status == 405 && post.header("Allow") == "GET, HEAD")
        }
    }

    @Test("it has the routes of all services, and the gateway's own")
    func routes() async throws {
        try await GatewayHarness.run { harness in
            let paths = try #require(
                try await harness.request("GET", "/api/openapi.json", as: nil).json["paths"]?.object)
            for path in ["/api/chat", "/api/rooms/{roomId}/things/{thing}", "/api/sync", "/healthz", "/readyz"] {
                #expect(paths[path] != nil, "\(path)")
            }
            #expect(paths["/api/open"]?["post"]?["security"] == nil)
            #expect(paths["/api/chat"]?["get"]?["security"] != nil)
        }
    }

    @Test("a service's description is asked for once, however many want the document")
    func once() async throws {
        try await GatewayHarness.run { harness in
            let asked = Collector<String>()
            let description = ServiceDescription(requests: ["chat.list": RequestDescription("Lists chats.")])
            harness.chat.on("chat.describe") { request in
                asked.add(request.subject)
                request.reply(Reply(.ok, description.json).json)
            }
            var manifest = harness.chat.manifest
            manifest.descriptionDigest = "a"
            harness.chat.announce(manifest)
            let summaries = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 1...8 {
                    group.addTask {
                        let document = try await harness.request("GET", "/api/openapi.json", as: nil).json
                        return document["paths"]?["/api/chat"]?["get"]?["summary"]?.string
                    }
                }
                return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(summaries == Array(repeating: "Lists chats.", count: 8))
            #expect(asked.items.count == 1)
        }
    }
}
