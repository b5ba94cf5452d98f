import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import Testing

@testable import ParlorMessaging

@Suite("The declaration of messaging")
struct ManifestTests {
    @Test("every declared request is answered, and refused without a caller")
    func answered() async throws {
        try await MessagingHarness.serving { harness in
            let (announcements, received) = AsyncStream.makeStream(of: Manifest?.self)
            try harness.bus.subscribe(Subject.announcements) {
                received.yield($0.data["manifest"].flatMap(Manifest.init))
            }
            try harness.bus.publish(Subject.discover, JSONValue.emptyObject)
            let manifest = try #require(await announcements.first { _ in true } ?? nil)
            for subject in manifest.routes.map(\.subject) + manifest.socketEvents.map(\.subject) {
                try await harness.expect(.unauthenticated) { try await harness.ask(subject, by: nil) }
            }
            let limits = Set(manifest.limits.map(\.name))
            for limit in manifest.routes.flatMap(\.limits) + manifest.socketEvents.flatMap(\.limits) {
                #expect(limits.contains(limit))
            }
            let room = harness.rooms.make("room", "alice", "bob")
            _ = try await harness.send(by: "alice", in: room)
            let shown = try await harness.contribution(to: [room], for: "bob").first?.array
            #expect(shown?.count == manifest.contribution?.fields.count)
            #expect(manifest.hasEventLog && manifest.contribution?.subject == "messaging.contribute")
        }
    }
}
