import Foundation
import ParlorBus
import ParlorServiceKit
import ParlorTestSupport
import Testing

/// Runs the transcripts in PROTOCOL.md, so that the document and the broker cannot diverge.
@Suite("PROTOCOL.md", .timeLimit(.minutes(1)))
struct ProtocolDocumentTests {
    /// One fenced block, with a broker of its own and the lines on each of its connections.
    struct Transcript: CustomTestStringConvertible, Sendable {
        let firstLine: Int
        let access: String
        var steps: [String] = []

        var testDescription: String { "line \(firstLine)" }
    }

    static let transcripts: [Transcript] = {
        let document = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Services/Bus/PROTOCOL.md")
        // An unreadable document has no transcripts, which fails.
        let lines = (try? String(contentsOf: document, encoding: .utf8))?.split(
            separator: "\n", omittingEmptySubsequences: false)
        var found: [Transcript] = []
        var isInside = false
        for (number, line) in (lines ?? []).enumerated() {
            if line.hasPrefix("```transcript") {
                let access = line.split(separator: " ").dropFirst().first.map(String.init)
                found.append(Transcript(firstLine: number + 2, access: access ?? ""))
                isInside = true
            } else if line.hasPrefix("```") {
                isInside = false
            } else if isInside {
                found[found.count - 1].steps.append(String(line))
            }
        }
        return found
    }()

    @Test("it has transcripts")
    func exist() {
        #expect(Self.transcripts.count == 7)
        #expect(Self.transcripts.allSatisfy { $0.steps.count >= 5 })
    }

    @Test("each transcript matches what happens, byte for byte", arguments: transcripts)
    func run(transcript: Transcript) async throws {
        var settings = BrokerSettings()
        switch transcript.access {
        case "token": settings.access = .token("open sesame")
        case "peers":
            settings.access = .peers(
                try BusPeerTable([(.service("polls", requests: ["rooms.membership"]), token: "open sesame of polls")]))
        default: break
        }
        let server = try await BusServer.start(host: "127.0.0.1", port: 0, settings: settings)
        var connections: [Substring: RawClient] = [:]
        for step in transcript.steps {
            let name = step.prefix(1)
            let text = String(step.dropFirst(3))
            let connection = try connections[name] ?? RawClient(port: server.port)
            connections[name] = connection
            switch step.dropFirst().prefix(2) {
            case "> " where text == "!close": connection.close()
            case "> ": try connection.send(lineByByte: text)
            case "< ": #expect(try connection.receiveLine() == text)
            case "|": #expect(try connection.receiveLine() == nil)
            default: Issue.record("no step of a transcript: \(step)")
            }
        }
        connections = [:]
        await server.drain(timeout: .zero)
    }
}
