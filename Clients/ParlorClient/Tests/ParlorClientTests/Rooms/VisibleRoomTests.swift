import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of the badges of a room whose messages are on the screen.
@MainActor
@Suite("Badges of the room on the screen", .timeLimit(.minutes(1)))
struct VisibleRoomTests {
    private let home: AdasDevice

    init() throws { home = try AdasDevice() }

    /// Opens the room with one message, shows it, and waits until the server knows that it is read.
    private func opened(_ client: RoomsClient) async throws -> Conversation {
        try home.server.post("one", in: home.roomID, by: home.ben.id)
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await lookUntil { conversation.isVerified && conversation.items.count == 1 }
        conversation.setVisible(conversation.items)
        await home.clock.advance(by: .seconds(3))
        await lookUntil { unread(client) == 0 }
        return conversation
    }

    /// The number of unread messages, as the server has it.
    private func unread(_ client: RoomsClient) -> Int? { client.rooms.counts.latest(of: home.roomID)?.unreadMessages }

    /// The highest number that a badge shows.
    private func badge(_ client: RoomsClient) -> Int {
        max(client.rooms.counts[home.roomID].unreadMessages, client.rooms[home.roomID]?.badges.messages ?? 0)
    }

    /// Returns the numbers that the badges show during some time.
    private func badges(_ client: RoomsClient, for duration: Duration) async -> Set<Int> {
        var shown: Set<Int> = []
        for _ in 0..<Int(duration / .milliseconds(100)) {
            await home.clock.advance(by: .milliseconds(100))
            shown.insert(badge(client))
        }
        return shown
    }

    @Test("messages that arrive while the newest one is on the screen show in no badge, and are read")
    func reading() async throws {
        let client = try await home.connected()
        let conversation = try await opened(client)
        for count in 2...3 {
            try home.server.post("\(count)", in: home.roomID, by: home.ben.id)
            await lookUntil { conversation.items.count == count }
            #expect(unread(client) == 1)
            // The screen takes some time to draw the message.
            var shown = await badges(client, for: .milliseconds(300))
            conversation.noteVisible(conversation.items.suffix(1))
            shown.formUnion(await badges(client, for: .seconds(2)))
            #expect(shown == [0])
            await lookUntil { unread(client) == 0 }
        }
        await client.local.conversations.close(conversation)
        #expect(await badges(client, for: .seconds(1)) == [0])
        await client.stop()
    }

    @Test("messages count at once if the person has scrolled up, or if another screen covers the room")
    func elsewhere() async throws {
        let client = try await home.connected()
        let conversation = try await opened(client)
        let hidings: [@MainActor () -> Void] = [
            { conversation.noteHidden(conversation.items.suffix(1)) },
            { conversation.setVisible(conversation.items.prefix(1)) },
            { conversation.setVisible([MessageItem]()) },
        ]
        for (index, hide) in hidings.enumerated() {
            hide()
            try home.server.post("unread", in: home.roomID, by: home.ben.id)
            await lookUntil { conversation.items.count == index + 2 }
            #expect(await badges(client, for: .milliseconds(500)).max() == index + 1)
        }
        await client.stop()
    }

    @Test("a message that the screen does not draw within a second counts, and one that is left unread does, too")
    func undrawn() async throws {
        let client = try await home.connected()
        let conversation = try await opened(client)
        try home.server.post("below the screen", in: home.roomID, by: home.ben.id)
        await lookUntil { conversation.items.count == 2 }
        #expect(await badges(client, for: .milliseconds(900)) == [0])
        await home.clock.advance(by: .milliseconds(300))
        await lookUntil { badge(client) == 1 }
        conversation.setVisible(conversation.items)
        await home.clock.advance(by: .seconds(3))
        await lookUntil { badge(client) == 0 }
        try home.server.post("just before the room is closed", in: home.roomID, by: home.ben.id)
        await lookUntil { conversation.items.count == 3 }
        await client.local.conversations.close(conversation)
        await home.clock.advance(by: .milliseconds(300))
        await lookUntil { badge(client) == 1 }
        await client.stop()
    }

    @Test("messages that are read without a network do not count, before and after the connection is there again")
    func offline() async throws {
        let client = try await home.connected()
        let conversation = try await opened(client)
        conversation.setVisible([MessageItem]())
        for text in ["two", "three", "four"] { try home.server.post(text, in: home.roomID, by: home.ben.id) }
        await home.clock.advance(by: .milliseconds(300))
        await lookUntil { conversation.items.count == 4 && badge(client) == 3 }
        home.device.setAirplaneMode(true)
        await lookUntil { client.connection != .connected }
        conversation.setVisible(conversation.items.suffix(2))
        await home.clock.advance(by: .seconds(1))
        await lookUntil { badge(client) == 1 }
        #expect(unread(client) == 3)
        home.device.setAirplaneMode(false)
        await client.enterForeground()
        let shown = await badges(client, for: .seconds(2))
        #expect(shown == [1])
        #expect(unread(client) == 1)
        await client.stop()
    }
}
