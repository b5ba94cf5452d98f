import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of what a second opening, or a second start, shows.
@MainActor
@Suite("RoomsClient: opening and starting again", .timeLimit(.minutes(1)))
struct RoomsClientReopeningTests {
    private let home: AdasDevice

    init() throws { home = try AdasDevice() }

    private func opened(_ client: RoomsClient) async throws -> Conversation {
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await lookUntil { conversation.isVerified }
        return conversation
    }

    private var leaves: Int { home.device.requests.count { $0 == "room:leave" } }

    private var pages: Int { home.device.requests.count { $0 == "GET /api/rooms/\(home.roomID)/messages" } }

    @Test("a room with more unread messages than are cached opens at the first one each time")
    func unreadAboveCache() async throws {
        try home.server.post("mine", in: home.roomID, by: home.ada.id)
        for number in 1...120 { try home.server.post("\(number)", in: home.roomID, by: home.ben.id) }
        let client = try await home.connected()
        for opening in 1...3 {
            let conversation = try await opened(client)
            let first = conversation.items.first { $0.id == conversation.firstUnread }
            #expect(first?.text == "1", "opening \(opening)")
            #expect(conversation.items.last?.text == "120")
            await client.local.conversations.close(conversation)
            await lookUntil { leaves == opening }
        }
        await client.stop()
    }

    @Test("a room whose messages could not be cached is fetched when it is opened again")
    func notCached() async throws {
        for number in 1...60 { try home.server.post("\(number)", in: home.roomID, by: home.ada.id) }
        let deleted = try home.server.post("deleted", in: home.roomID, by: home.ben.id)
        try home.server.post("last", in: home.roomID, by: home.ben.id)
        let client = try await home.connected()
        let first = try await opened(client)
        // Enough messages that after the deletion the cache would have as many, and the same newest one.
        await first.loadOlder()
        await first.keepAll()
        // A folder in the place of the draft keeps the file from being replaced, as a full disk does.
        let file = home.temporary.url.appending(path: "cache").appending(path: home.roomID.fileName() + ".json.new")
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        try home.server.deleteMessage(deleted, in: home.roomID, by: home.ben.id)
        await lookUntil { first.items.count == 61 }
        await client.local.conversations.close(first)
        await lookUntil { leaves == 1 }
        let before = pages
        let second = try await opened(client)
        #expect(second.items.last?.text == "last")
        #expect(!second.items.contains { $0.text == "deleted" })
        #expect(pages > before)
        await client.stop()
    }

    @Test("a start without a network shows what events changed before the app went to the background")
    func listFromEvents() async throws {
        let client = try await home.connected()
        // An open room has the text of each message, so no room is fetched.
        let conversation = try await opened(client)
        try home.server.post("Just now", in: home.roomID, by: home.ben.id)
        await lookUntil { conversation.items.count == 1 }
        await client.enterBackground()
        await client.endProcess()
        home.device.setAirplaneMode(true)
        let next = home.makeClient()
        await next.rooms.showKept()
        #expect(next.rooms[home.roomID]?.lastMessage?.text == "Just now")
        #expect(next.rooms[home.roomID]?.badges.messages == 1)
    }

    @Test("a new room is on disk soon after its event")
    func newRoom() async throws {
        let client = try await home.connected()
        let made = try home.server.makeRoom(by: home.server.addPerson("cy").id, with: home.ada.id)
        await lookUntil { client.rooms[made] != nil }
        await home.clock.advance(by: .seconds(1))
        await lookUntil { client.rooms.keeper.writing == nil }
        await client.endProcess()
        let next = home.makeClient()
        await next.rooms.showKept()
        #expect(next.rooms[made] != nil)
    }

    @Test("a board is verified only once its room is joined")
    func boardWithoutJoin() async throws {
        let client = try await home.connected()
        home.server.refuseNext("room:join", with: Refusal(code: "service_unavailable", message: "", isRetryable: true))
        let board = client.openBoard(of: client.openConversation(try #require(client.rooms[home.roomID])))
        await lookUntil { home.device.requests.contains("room:join") && !board.isLoading && board.failure == nil }
        await TestClock.settle()
        #expect(!board.isVerified)
        for _ in 0..<40 where !board.isVerified { await home.clock.advance(by: .seconds(1)) }
        await lookUntil { board.isVerified }
        await client.stop()
    }
}
