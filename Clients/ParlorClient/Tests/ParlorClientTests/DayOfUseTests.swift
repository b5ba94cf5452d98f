import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Counts the HTTP requests of a day: a person with 20 rooms opens the app 12 times. Each time they look into six rooms,
/// in two of which something is new, answer in one, leave the app, and come back to it after a minute.
@MainActor
@Suite("A day of use", .timeLimit(.minutes(3)))
struct DayOfUseTests {
    private struct Counts: CustomStringConvertible {
        var lists = 0
        var pages = 0
        var others = 0

        var all: Int { lists + pages + others }
        var description: String { "\(all): \(lists) lists of rooms, \(pages) pages of messages, \(others) others" }
    }

    private func day(isCached: Bool) async throws -> Counts {
        let clock = TestClock()
        let server = ScriptedServer(clock: clock)
        let (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        let rooms = try (0..<20).map { _ in try server.makeRoom(by: ben.id, with: ada.id) }
        for room in rooms {
            let ids = try (0..<60).map { try server.post("\($0)", in: room, by: ben.id) }
            try server.markRead(ids, in: room, by: ada.id)
        }
        let device = server.makeDevice()
        var start = 0
        let temporary = TemporaryFolder(in: "/dev/shm")
        var settings = RoomsClient.Settings()
        if !isCached { settings.messageLimit = 0 }
        // The day before, every room was opened once.
        for opening in 0...12 {
            let client = device.makeClient(of: ada, folder: temporary.url, settings: settings)
            try await connect(client)
            let entered = opening == 0 ? rooms : (0..<6).map { rooms[(opening + $0 * 3) % rooms.count] }
            for (number, room) in entered.enumerated() {
                try await visit(room, client, clock, answers: number == 0)
                // They go back to a room that they have just left.
                if number == 2 { try await visit(entered[1], client, clock, answers: false) }
            }
            await client.enterBackground()
            await clock.advance(by: .seconds(60))
            try await connect(client)
            await client.enterBackground()
            if opening == 0 { start = device.requests.count }
            // Meanwhile, two of the next rooms get messages.
            for number in 0..<2 {
                let room = rooms[(opening + 1 + number * 3) % rooms.count]
                for text in ["new", "newer"] { try server.post(text, in: room, by: ben.id) }
            }
            await clock.advance(by: .seconds(3600))
        }
        var counts = Counts()
        for request in device.requests.dropFirst(start) where request.contains(" /") {
            if request == "GET /api/rooms/my-rooms" {
                counts.lists += 1
            } else if request.hasPrefix("GET "), request.hasSuffix("/messages") {
                counts.pages += 1
            } else {
                counts.others += 1
            }
        }
        return counts
    }

    private func connect(_ client: RoomsClient) async throws {
        await client.enterForeground()
        await lookUntil { client.connection == .connected && !client.isBehind && client.rooms.isLoaded }
        await lookUntil { client.rooms.fetching.running == nil && !client.rooms.fetching.needsRefresh }
    }

    private func visit(_ room: String, _ client: RoomsClient, _ clock: TestClock, answers: Bool) async throws {
        let conversation = client.openConversation(try #require(client.rooms[room]))
        await lookUntil { conversation.isVerified }
        #expect(conversation.items.count >= 50)
        if answers {
            conversation.send("answer")
            await lookUntil { conversation.items.last?.message != nil }
        }
        let unread = client.rooms.counts.latest(of: room)?.unreadMessages ?? 0
        conversation.setVisible(conversation.items)
        await clock.advance(by: .seconds(3))
        if unread > 0 { await lookUntil { client.rooms.counts.latest(of: room)?.unreadMessages == 0 } }
        await client.local.conversations.close(conversation)
    }

    @Test("with the cache, no page of messages is fetched, nor half of all requests made")
    func day() async throws {
        let (cached, bare) = (try await day(isCached: true), try await day(isCached: false))
        print("requests of a day: with the cache \(cached); without \(bare)")
        #expect(cached.pages == 0 && bare.pages > 80, "\(cached); \(bare)")
        #expect(cached.all < bare.all / 2, "\(cached); \(bare)")
    }
}
