import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("The list of rooms: messages that are not sent", .timeLimit(.minutes(1)))
struct FailedMessagesTests {
    private let home: AdasDevice

    init() throws { home = try AdasDevice() }

    /// Starts the client, and sends a message that the server refuses after its room was closed.
    private func clientWithFailure(sending texts: [String] = ["Never"]) async throws -> RoomsClient {
        let client = home.makeClient()
        let conversation = try await home.openRoom(with: client)
        home.server.refuseNext("message:send", with: Refusal(code: "forbidden", message: "Not you.", status: 403))
        home.device.setAirplaneMode(true)
        for text in texts { conversation.send(text) }
        await lookUntil { conversation.items.count == texts.count }
        await client.local.conversations.close(conversation)
        #expect(client.rooms.failedRoomIDs.isEmpty)
        home.device.setAirplaneMode(false)
        await client.enterForeground()
        await lookUntil { !client.rooms.failedRoomIDs.isEmpty }
        #expect(client.rooms.failedRoomIDs == [home.roomID])
        return client
    }

    @Test("a room that is closed tells of a refused message, also after a restart, until it is sent again")
    func retried() async throws {
        await (try clientWithFailure()).stop()
        let client = home.makeClient()
        await client.start()
        await lookUntil { client.rooms.isLoaded && client.rooms.failedRoomIDs == [home.roomID] }
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await lookUntil { conversation.items.count == 1 }
        await conversation.retry(try #require(conversation.items.first).id)
        await lookUntil { client.rooms.failedRoomIDs.isEmpty }
        await lookUntil { conversation.items.first?.message != nil }
        await client.stop()
    }

    @Test("a discarded message is no failure any more")
    func discarded() async throws {
        let client = try await clientWithFailure()
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await lookUntil { conversation.items.count == 1 }
        #expect(await conversation.discard(try #require(conversation.items.first).id))
        await lookUntil { client.rooms.failedRoomIDs.isEmpty }
        await client.stop()
    }

    @Test("a room with two failed messages is a failure until the last one is discarded")
    func two() async throws {
        home.server.refuseNext("message:send", with: Refusal(code: "forbidden", message: "Not you.", status: 403))
        let client = try await clientWithFailure(sending: ["Never", "Never again"])
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await lookUntil { conversation.items.filter { $0.state.hasFailed }.count == 2 }
        for (index, item) in conversation.items.enumerated() {
            #expect(client.rooms.failedRoomIDs == [home.roomID], "after \(index) of them")
            #expect(await conversation.discard(item.id))
        }
        await lookUntil { client.rooms.failedRoomIDs.isEmpty }
        await client.stop()
    }

    @Test("a room that the person has lost has no failure")
    func lost() async throws {
        let client = try await clientWithFailure()
        await client.local.forget(home.roomID, because: .roomGone)
        await lookUntil { client.rooms.failedRoomIDs.isEmpty }
        await client.stop()
    }

    @Test("failures that arrive late do not replace newer ones")
    func late() throws {
        let list = RoomList(for: home.ada.id, from: FakeRoomServer(), clock: home.clock)
        list.take(FailedRooms(ids: [], version: 2))
        list.take(FailedRooms(ids: [home.roomID], version: 1))
        #expect(list.failedRoomIDs.isEmpty)
    }

    @Test("a sign-out takes the failures away")
    func signedOut() async throws {
        let client = try await clientWithFailure()
        try await client.signOut()
        await lookUntil { client.rooms.failedRoomIDs.isEmpty }
    }
}

extension MessageItem.State {
    fileprivate var hasFailed: Bool { if case .failed = self { true } else { false } }
}
