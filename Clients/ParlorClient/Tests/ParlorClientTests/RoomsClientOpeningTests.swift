import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of opening and closing rooms, on a scripted server.
@MainActor
@Suite("RoomsClient: opening rooms", .timeLimit(.minutes(1)))
struct RoomsClientOpeningTests {
    private let home: AdasDevice

    init() throws { home = try AdasDevice() }

    private struct NoSockets: SocketTransport {
        func connect(to url: URL) async throws -> any SocketConnection { throw ClientFailure.offline("403") }
    }

    @Test("without sockets, a room is shown, but never as verified, because changes would not arrive")
    func withoutSockets() async throws {
        try home.server.post("Hello", in: home.roomID, by: home.ben.id)
        let client = home.makeClient(sockets: NoSockets())
        await client.start()
        await until { client.rooms.isLoaded }
        for _ in 0..<2 {
            let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
            await until { conversation.isFetched }
            #expect(conversation.items.map(\.text) == ["Hello"])
            #expect(!conversation.isVerified)
            await client.local.conversations.close(conversation)
        }
        await client.stop()
    }

    @Test("a room that is reopened and closed during a leave keeps its conversation until the last leave is done")
    func closedTwice() async throws {
        let messageID = try home.server.post("Hello", in: home.roomID, by: home.ada.id)
        let client = home.makeClient()
        await client.start()
        await until { client.connection == .connected && client.rooms.isLoaded }
        let room = try #require(client.rooms[home.roomID])
        let first = client.openConversation(room)
        await until { first.isVerified }
        let closing = Task { await client.local.conversations.close(first) }
        // This task runs before the first closing has ended.
        var isClosed = false
        let closingAgain = Task {
            let second = client.openConversation(room)
            #expect(second === first)
            // The second closing takes longer, because there is something to write.
            second.apply(
                .messagesRead(roomID: home.roomID, userID: home.ben.id, messageIDs: [messageID], readAt: home.clock.now)
            )
            await client.local.conversations.close(second)
            isClosed = true
        }
        await closing.value
        let third = client.openConversation(room)
        #expect(isClosed || third === first)
        await closingAgain.value
        await until { third.isVerified }
        try home.server.post("Hi!", in: home.roomID, by: home.ben.id)
        await until { third.items.map(\.text) == ["Hello", "Hi!"] }
        await client.local.conversations.close(third)
        await client.stop()
    }

    @Test("a notification's room is opened by its id, also one that the list does not have yet")
    func byID() async throws {
        try home.server.post("Hello", in: home.roomID, by: home.ben.id)
        let client = home.makeClient()
        // The notification is tapped before the app has started its client.
        let opened = try await client.open(roomID: home.roomID)
        let conversation = opened.conversation
        #expect(client.rooms[home.roomID] == nil)
        await client.start()
        await until { conversation.isVerified }
        #expect(conversation.items.map(\.text) == ["Hello"])
        await until { client.rooms[home.roomID] != nil }
        let again = try await client.open(roomID: home.roomID)
        #expect(again.conversation === conversation && again.board === opened.board)
        for room in [opened, again] { await room.closeAndKeep() }
        await client.stop()
    }

    @Test("a room that is not one's own is not opened by its id, nor any after a sign-out")
    func notOwn() async throws {
        let other = try home.server.makeRoom(by: home.ben.id, with: home.server.addPerson("eve").id)
        let client = home.makeClient()
        for id in [other, "unknown", "a/../b"] {
            let failure = await #expect(throws: ClientFailure.self) { _ = try await client.open(roomID: id) }
            #expect(failure?.code == "room_not_found")
        }
        try await client.signOut()
        await #expect(throws: ClientFailure.signedOut) { _ = try await client.open(roomID: home.roomID) }
    }

    @Test("a notification that starts the app without a network opens a room that was shown before, and no other")
    func byIDOffline() async throws {
        try home.server.post("Hello", in: home.roomID, by: home.ben.id)
        let first = home.makeClient()
        await first.start()
        await until { first.rooms.isLoaded }
        let conversation = first.openConversation(try #require(first.rooms[home.roomID]))
        await until { conversation.isVerified }
        await first.local.conversations.close(conversation)
        _ = await first.enterBackground()
        await first.endProcess()
        let other = try home.server.makeRoom(by: home.ada.id, with: home.ben.id)
        let device = home.server.makeDevice()
        device.setAirplaneMode(true)
        let second = home.makeClient(http: device, sockets: device)
        #expect(try await second.room(home.roomID).name == "Plans")
        let shown = try await second.open(roomID: home.roomID)
        await until { shown.conversation.items.map(\.text) == ["Hello"] }
        for failure in [
            await #expect(throws: ClientFailure.self) { _ = try await second.open(roomID: other) },
            await #expect(throws: ClientFailure.self) { _ = try await second.room(other) },
        ] {
            #expect(failure?.code == "offline")
        }
        await shown.closeAndKeep()
        await second.stop()
    }
}
