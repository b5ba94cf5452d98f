import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of screens, messages and board changes of a room that the person has lost.
@MainActor
@Suite("RoomsClient: a room that is gone", .timeLimit(.minutes(1)))
struct RoomsClientGoneRoomTests {
    private let gone = Refusal(code: "room_not_found", message: "The room is gone.", status: 404)
    private let home: AdasDevice

    init() throws { home = try AdasDevice() }

    @Test("open screens of a lost room have the failure, and send and create nothing")
    func openScreens() async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        let opened = client.open(room)
        let (conversation, board) = (opened.conversation, opened.board)
        await lookUntil { conversation.isVerified && board.isVerified }
        // This message is handed to the outbox while the room is forgotten.
        conversation.send("typed just before")
        client.rooms.forget(home.roomID, because: .roomGone)
        await lookUntil { conversation.failure?.code == "room_not_found" && board.failure?.code == "room_not_found" }
        await TestClock.settle()
        #expect(conversation.items.isEmpty)
        #expect(conversation.send("too late") == nil)
        #expect(board.create(type: "note", content: [:]) == nil)
        #expect(board.items.isEmpty && !board.isVerified)
        await #expect(throws: ClientFailure.roomGone) { try await board.clear() }
        await board.refresh()
        #expect(board.failure == .roomGone)
        await TestClock.settle()
        #expect(conversation.items.isEmpty && conversation.failure == .roomGone)
        #expect(try await client.unsentCount() == 0)
        await opened.closeAndKeep()
        await client.stop()
    }

    @Test("a message whose ack arrives after the room was lost is not shown")
    func lateAck() async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        let conversation = client.openConversation(room)
        await lookUntil { conversation.isVerified }
        let id = try #require(conversation.send("sent just before"))
        await lookUntil { conversation.items.last?.message != nil }
        let message = try #require(conversation.items.last?.message)
        client.rooms.forget(home.roomID, because: .roomGone)
        await lookUntil { conversation.failure != nil }
        conversation.sending.take(.stored(tempID: id, message))
        #expect(conversation.items.isEmpty)
        await client.stop()
    }

    @Test("a lost room that is opened again is a new conversation, which ends when the home.server confirms the loss")
    func openedAgain() async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        let first = client.openConversation(room)
        await lookUntil { first.isVerified }
        client.rooms.forget(home.roomID, because: .roomGone)
        await lookUntil { first.failure != nil && client.local.conversations[home.roomID] == nil }
        home.server.refuseNext("room:join", with: gone)
        home.server.refuseNext("GET /api/rooms/\(home.roomID)", with: gone)
        let second = client.openConversation(room)
        #expect(second !== first)
        await lookUntil { second.failure?.code == "room_not_found" }
        await home.clock.advance(by: .seconds(1))
        await lookUntil { second.failure?.code == "room_not_found" && client.local.conversations[home.roomID] == nil }
        #expect(second.send("too late") == nil)
        await client.stop()
    }

    @Test("unsent messages and board changes outlive a refused join of a room that the home.server still has")
    func refusedJoin() async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        for name in ["message:send", "POST /api/rooms/\(home.roomID)/elements"] {
            home.server.refuseNext(name, with: Refusal(code: "invalid_field", message: "No."))
        }
        let opened = client.open(room)
        let (first, board) = (opened.conversation, opened.board)
        await lookUntil { first.isVerified && board.isVerified }
        first.send("refused")
        board.create(type: "note", content: [:])
        await lookUntil { first.items.last?.pending?.state.isFailed == true && board.items.last?.state != .saving }
        await opened.closeAndKeep()
        await lookUntil { client.local.conversations[home.roomID] == nil }
        home.server.refuseNext("room:join", with: gone)
        let checks = home.device.requests.count { $0 == "GET /api/rooms/\(home.roomID)" }
        let second = client.openConversation(room)
        await lookUntil { second.failure?.code == "room_not_found" }
        await home.clock.advance(by: .seconds(1))
        await lookUntil { home.device.requests.count { $0 == "GET /api/rooms/\(home.roomID)" } > checks }
        await TestClock.settle()
        #expect(client.rooms[home.roomID] != nil && client.local.conversations[home.roomID] === second)
        // The server still has the room, so the conversation is loaded after a pause, which is random.
        await lookUntil {
            await home.clock.advance(by: .seconds(1))
            return second.isVerified && second.failure == nil
        }
        #expect(second.items.last?.text == "refused")
        #expect(try await client.unsentCount() == 2)
        await client.stop()
    }

    @Test("a room that a reconnect may not join again for good is no longer verified, and says why")
    func refusedAgain() async throws {
        let client = try await home.connected()
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await lookUntil { conversation.isVerified }
        home.device.setAirplaneMode(true)
        await lookUntil { client.connection != .connected }
        for _ in 1...2 {
            home.server.refuseNext("room:join", with: Refusal(code: "forbidden", message: "Not now.", status: 403))
        }
        home.device.setAirplaneMode(false)
        await client.enterForeground()
        await lookUntil { conversation.failure?.code == "forbidden" }
        #expect(!conversation.isVerified)
        await client.stop()
    }

    @Test("closing the board of a lost room leaves a later conversation of the room open")
    func staleBoard() async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        let lost = client.open(room)
        let board = lost.board
        await lookUntil { board.isVerified }
        client.rooms.forget(home.roomID, because: .roomGone)
        await lookUntil { board.failure != nil && client.local.conversations[home.roomID] == nil }
        let conversation = client.openConversation(room)
        await lookUntil { conversation.isVerified }
        await lost.closeAndKeep()
        #expect(client.local.conversations[home.roomID] === conversation && conversation.isVerified)
        await client.local.conversations.close(conversation)
        await client.stop()
    }

    @Test(
        "a message or board change that is refused for its room is removed when the home.server confirms the loss",
        arguments: [false, true])
    func refused(isMessage: Bool) async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        let opened = client.open(room)
        let (conversation, board) = (opened.conversation, opened.board)
        await lookUntil { conversation.isVerified && board.isVerified }
        home.server.refuseNext(isMessage ? "message:send" : "POST /api/rooms/\(home.roomID)/elements", with: gone)
        home.server.refuseNext("GET /api/rooms/\(home.roomID)", with: gone)
        if isMessage { conversation.send("never stored") } else { board.create(type: "note", content: [:]) }
        await lookUntil { (try? await client.unsentCount()) == 1 }
        await TestClock.settle()
        await home.clock.advance(by: .seconds(1))
        await lookUntil { conversation.failure == .roomGone && board.failure == .roomGone }
        await lookUntil { (try? await client.unsentCount()) == 0 }
        opened.close()
        await client.stop()
    }
}
