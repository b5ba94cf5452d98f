import Contracts
import JSON
import MessageBus
import ServiceKit
import Testing

@testable import Messaging

@Suite("The declaration of messaging")
struct ManifestTests {
    @Test("all that it declares is answered, and refused without a caller")
    func answered() async throws {
        try await MessagingWorld.serving { world in
            let (announcements, heard) = AsyncStream.makeStream(of: Manifest?.self)
            try world.bus.subscribe(Subject.announcements) { heard.yield($0.data["manifest"].flatMap(Manifest.init)) }
            try world.bus.publish(Subject.discover, JSONValue.emptyObject)
            let manifest = try #require(await announcements.first { _ in true } ?? nil)
            for subject in manifest.routes.map(\.subject) + manifest.socketEvents.map(\.subject) {
                try await world.expect(.unauthenticated) { try await world.ask(subject, by: nil) }
            }
            let limits = Set(manifest.limits.map(\.name))
            for limit in manifest.routes.flatMap(\.limits) + manifest.socketEvents.flatMap(\.limits) {
                #expect(limits.contains(limit))
            }
            let room = world.rooms.make("room", "alice", "bob")
            _ = try await world.send(by: "alice", in: room)
            let shown = try await world.contribution(to: [room], for: "bob").first?.array
            #expect(shown?.count == manifest.contribution?.fields.count)
            #expect(manifest.hasEventLog && manifest.contribution?.subject == "messaging.contribute")
        }
    }
}
