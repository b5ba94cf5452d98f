import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of a client in groups whose people come and go, on a scripted server.
@MainActor
@Suite("RoomsClient: groups", .timeLimit(.minutes(1)))
struct RoomsClientGroupTests {
    private let home: AdasDevice
    private let cleo: Person
    private let groupID: String

    init() throws {
        home = try AdasDevice()
        cleo = home.server.addPerson("cleo")
        groupID = try home.server.makeGroup(by: home.ben.id, with: [home.ada.id], name: "Trip")
    }

    private func open(_ client: RoomsClient) async throws -> OpenRoom {
        let opened = client.open(try #require(client.rooms[groupID]))
        await lookUntil { opened.conversation.isVerified }
        return opened
    }

    /// Waits for something that is shown at most once in 100 ms.
    private func untilShown(_ isShown: @MainActor () -> Bool) async {
        await lookUntil {
            await home.clock.advance(by: .milliseconds(100))
            return isShown()
        }
    }

    @Test("a person who was removed loses the room, what was not sent in it, and sees why", arguments: [true, false])
    func removed(isLive: Bool) async throws {
        let client = try await home.connected()
        let opened = try await open(client)
        let (conversation, board) = (opened.conversation, opened.board)
        await lookUntil { board.isVerified }
        client.drafts[groupID] = "half a sen"
        home.server.refuseNext("message:send", with: Refusal(code: "invalid_field", message: "No."))
        conversation.send("refused")
        await lookUntil { conversation.items.last?.pending?.state.isFailed == true }
        if !isLive {
            home.device.setAirplaneMode(true)
            await lookUntil { client.connection != .connected }
        }
        try home.server.removePerson(home.ada.id, from: groupID, by: home.ben.id)
        if !isLive {
            home.device.setAirplaneMode(false)
            await client.enterForeground()
        }
        await lookUntil {
            if !isLive { await home.clock.advance(by: .seconds(1)) }
            return conversation.failure != nil && board.failure != nil && client.rooms[groupID] == nil
        }
        #expect(conversation.failure?.code == (isLive ? "removed" : "room_not_found"))
        #expect(conversation.items.isEmpty && conversation.send("too late") == nil)
        await lookUntil { (try? await client.unsentCount()) == 0 && client.drafts[groupID].isEmpty }
        #expect(client.rooms.rooms.map(\.id) == [home.roomID])
        opened.close()
        await client.stop()
    }

    @Test("who leaves on one device loses the room on the other, and who is added again sees the history")
    func leftAndBack() async throws {
        try home.server.post("one", in: groupID, by: home.ben.id)
        let client = try await home.connected()
        let opened = try await open(client)
        try home.server.act(
            as: home.ada.id, "participant:remove",
            .object(["roomId": .string(groupID), "userId": .string(home.ada.id)]))
        await lookUntil { opened.conversation.failure?.code == "left" }
        opened.close()
        await lookUntil { client.local.conversations[groupID] == nil }
        try home.server.addPeople([home.ada.id], to: groupID, by: home.ben.id)
        await lookUntil { client.rooms[groupID] != nil }
        #expect(client.rooms[groupID]?.badges.messages == 0)
        let again = try await open(client)
        #expect(again.conversation.items.map(\.text) == ["one"])
        again.close()
        await client.stop()
    }

    @Test("a message is read once those have read it who were there when it was sent")
    func reading() async throws {
        let client = try await home.connected()
        let opened = try await open(client)
        let conversation = opened.conversation
        conversation.send("one")
        await lookUntil { conversation.items.last?.message != nil }
        let id = try #require(conversation.items.last?.message?.id)
        await home.clock.advance(by: .seconds(2))
        try home.server.addPeople([cleo.id], to: groupID, by: home.ben.id)
        await untilShown { client.rooms[groupID]?.participantCount == 3 }
        try home.server.markRead([id], in: groupID, by: home.ben.id)
        await lookUntil { conversation.items.last?.state == .read }
        await home.clock.advance(by: .seconds(2))
        conversation.send("two")
        await lookUntil { conversation.items.last?.message?.text == "two" }
        let second = try #require(conversation.items.last?.message?.id)
        try home.server.markRead([second], in: groupID, by: home.ben.id)
        await lookUntil { conversation.items.last?.message?.readBy.count == 1 }
        #expect(conversation.items.last?.state == .stored)
        // Nobody is left who has not read it.
        try home.server.removePerson(cleo.id, from: groupID, by: cleo.id)
        await untilShown { conversation.items.last?.state == .read }
        opened.close()
        await client.stop()
    }

    @Test("the person's own changes reach the server, and the group is theirs to leave")
    func changes() async throws {
        let client = try await home.connected()
        let room = try await client.rooms.groups.make(with: [home.ben.id], name: "Book club")
        try await client.rooms.groups.add([cleo.id, home.ben.id], to: room.id)
        #expect(client.rooms[room.id]?.participants.map(\.username) == ["ada", "ben", "cleo"])
        try await client.rooms.groups.setRole(.owner, of: cleo.id, in: room.id)
        try await client.rooms.groups.remove(home.ben.id, from: room.id)
        #expect(client.rooms[room.id]?.participants.map(\.role) == [.owner, .owner])
        await #expect(throws: ClientFailure.self) { try await client.rooms.groups.add([cleo.id], to: home.roomID) }
        try await client.rooms.groups.leave(room.id)
        #expect(client.rooms[room.id] == nil)
        await TestClock.settle()
        #expect(client.rooms.rooms.count == 2)
        await client.stop()
    }
}
