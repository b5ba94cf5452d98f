import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("OpenRoom", .timeLimit(.minutes(1)))
struct OpenRoomTests {
    private let home: AdasDevice

    init() throws { home = try AdasDevice() }

    private func isOpen(on client: RoomsClient) -> Bool { client.local.conversations[home.roomID]?.isEntered == true }

    @Test("a room stays open until each of its screens has closed it, however often one does")
    func closing() async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        let (first, second) = (client.open(room), client.open(room))
        #expect(first.conversation === second.conversation)
        for _ in 1...3 { await first.closeAndKeep() }
        #expect(isOpen(on: client))
        second.close()
        await lookUntil { !isOpen(on: client) }
        await client.stop()
    }

    @Test("a released room is closed, with its board; a screen that opens it again before is not closed")
    func released() async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        var opened: OpenRoom? = client.open(room)
        let board = try #require(opened?.board)
        #expect(board.isShown)
        opened = client.open(room)
        await lookUntil { !board.isShown }
        #expect(isOpen(on: client))
        opened = nil
        await lookUntil { !isOpen(on: client) }
        await client.stop()
    }

    @Test("a closed room is not closed once more by its release")
    func closedThenReleased() async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        let other = client.open(room)
        var opened: OpenRoom? = client.open(room)
        await opened?.closeAndKeep()
        opened = nil
        await TestClock.settle()
        #expect(isOpen(on: client))
        other.close()
        await client.stop()
    }

    @Test("elements are fetched once the board is asked for, and not before")
    func board() async throws {
        let client = try await home.connected()
        let opened = client.open(try #require(client.rooms[home.roomID]))
        await lookUntil { opened.conversation.isVerified }
        let name = "GET /api/rooms/\(home.roomID)/elements"
        #expect(!home.device.requests.contains(name))
        #expect(opened.board === opened.board)
        await lookUntil { opened.board.isVerified }
        #expect(home.device.requests.count { $0 == name } == 1)
        await opened.closeAndKeep()
        // A screen may draw once more after it has disappeared.
        #expect(!opened.board.isVerified && !opened.board.isShown)
        await client.stop()
    }

    @Test("a board that is asked for after the room was closed stays closed")
    func boardOfClosed() async throws {
        let client = try await home.connected()
        let opened = client.open(try #require(client.rooms[home.roomID]))
        await opened.closeAndKeep()
        let board = opened.board
        await lookUntil { !board.isShown }
        await client.stop()
    }

    @Test("a chat with a person that is released closes its rooms")
    func personReleased() async throws {
        let client = try await home.connected()
        try home.server.post("Hello", in: home.roomID, by: home.ben.id)
        await until { client.rooms[home.roomID]?.messagesUpdatedAt != nil }
        var chat: PersonConversation? = client.openConversation(with: home.ben)
        await until { chat?.isVerified == true }
        #expect(isOpen(on: client))
        chat = nil
        await lookUntil { !isOpen(on: client) }
        await client.stop()
    }
}
