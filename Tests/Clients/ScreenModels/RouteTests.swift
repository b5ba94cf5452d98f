import ParlorClient
import Testing

@testable import ScreenModels

@MainActor
@Suite("Route", .timeLimit(.minutes(1)))
struct RouteTests {
    @Test("a room that has changed is the same destination, its board and another room are others")
    func identity() async throws {
        let world = PreviewWorld()
        let room = try #require(await world.start())
        let other = try #require(world.client.rooms.rooms.last)
        var changed = room
        changed.badges.messages += 1
        changed.name = "Attic"
        #expect(room != changed && Route.chat(room) == Route.chat(changed))
        #expect(Set([Route.chat(room), .chat(changed), .board(room), .board(changed), .chat(other)]).count == 3)
        await world.client.stop()
    }
}
