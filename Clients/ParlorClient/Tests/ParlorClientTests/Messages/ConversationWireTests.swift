import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of the conversations of two clients on a scripted server.
@MainActor
@Suite("Conversations over the wire", .timeLimit(.minutes(1)))
struct ConversationWireTests {
    private let clock = TestClock()
    private let folder = TemporaryFolder()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let roomID: String

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
    }

    @MainActor
    private struct Seat {
        let device: ScriptedDevice
        let client: RoomsClient
        let conversation: Conversation

        func count(_ request: String) -> Int { device.requests.count { $0 == request } }

        func leave() async {
            await client.local.conversations.close(conversation)
            await client.stop()
        }
    }

    /// Enters the room with a new client.
    private func seat(of person: Person) async throws -> Seat {
        let device = server.makeDevice()
        let client = device.makeClient(of: person, folder: folder.url.appending(path: person.id))
        await client.start()
        await until { client.connection == .connected && client.rooms[roomID] != nil }
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await until { conversation.isVerified }
        return Seat(device: device, client: client, conversation: conversation)
    }

    @Test("others see typing end on sending, on leaving and in the background")
    func typing() async throws {
        let (hers, his) = (try await seat(of: ada), try await seat(of: ben))
        let conversation = hers.conversation
        func type() async {
            await clock.advance(by: .seconds(1))
            conversation.typed()
            await until { his.conversation.typistIDs == [ada.id] }
        }
        await type()
        conversation.send("Hello")
        await until { his.conversation.typistIDs.isEmpty && his.conversation.items.count == 1 }
        await type()
        await hers.client.local.conversations.close(conversation)
        await until { his.conversation.typistIDs.isEmpty }
        let again = hers.client.openConversation(try #require(hers.client.rooms[roomID]))
        await until { again.isVerified }
        await clock.advance(by: .seconds(1))
        again.typed()
        await until { his.conversation.typistIDs == [ada.id] }
        await hers.client.enterBackground()
        await until { his.conversation.typistIDs.isEmpty }
        #expect(hers.count("message:typing") == 6)
        await his.leave()
    }

    @Test("who types for a minute is shown for a minute, although the server sends no renewals")
    func longTyping() async throws {
        let (hers, his) = (try await seat(of: ada), try await seat(of: ben))
        for _ in 0..<60 {
            hers.conversation.typed()
            await clock.advance(by: .seconds(1))
            server.endStaleTyping()
        }
        #expect(his.conversation.typistIDs == [ada.id])
        hers.conversation.stoppedTyping()
        await until { his.conversation.typistIDs.isEmpty }
        await hers.leave()
        await his.leave()
    }

    @Test("a message whose answer is lost is sent again with the same tempId, and stored once")
    func lostAnswer() async throws {
        let hers = try await seat(of: ada)
        hers.device.loseNextAnswer()
        let id = try #require(hers.conversation.send("Hello"))
        // The socket ends with the lost answer.
        await until { hers.client.connection != .connected }
        await hers.client.enterForeground()
        await until { hers.conversation.items.map(\.state) == [.stored] && hers.conversation.isVerified }
        #expect(hers.conversation.items.first?.id == id)
        #expect(server.texts(in: roomID) == ["Hello"])
        await hers.leave()
    }

    @Test("with many messages to send, missed ones are fetched once, and once more for the one in flight")
    func manyWaiting() async throws {
        let hers = try await seat(of: ada)
        let pages = "GET /api/rooms/\(roomID)/messages"
        let before = hers.device.requests.count { $0.hasPrefix(pages) }
        #expect(before > 0)
        hers.device.setAirplaneMode(true)
        await until { hers.client.connection != .connected }
        for number in 1...50 { hers.conversation.send("\(number)") }
        server.forgetHistory()
        hers.device.setAirplaneMode(false)
        await hers.client.enterForeground()
        await until { hers.conversation.items.allSatisfy { $0.state == .stored } && hers.conversation.isVerified }
        #expect(hers.device.requests.count { $0.hasPrefix(pages) } - before <= 2)
        await hers.leave()
    }

    @Test("a refused message has the reason; it can be sent again or discarded")
    func refused() async throws {
        let hers = try await seat(of: ada)
        for text in ["one", "two"] {
            server.refuseNext("message:send", with: Refusal(code: "invalid_field", message: "No."))
            hers.conversation.send(text)
            await until { hers.conversation.items.last?.pending?.state.isFailed == true }
        }
        let failed = MessageItem.State.failed(SendFailure(code: "invalid_field", message: "No."))
        #expect(hers.conversation.items.map(\.state) == [failed, failed])
        let ids = hers.conversation.items.map(\.id)
        #expect(await hers.conversation.discard(ids[1]))
        await hers.conversation.retry(ids[0])
        await until { hers.conversation.items.map(\.state) == [.stored] }
        #expect(server.texts(in: roomID) == ["one"])
        await hers.leave()
    }

    @Test("a message appears once, in its row, whether its ack or its event comes first")
    func ackAndEcho() async throws {
        let hers = try await seat(of: ada)
        hers.device.sendNextAckFirst()
        let first = hers.conversation.send("ack first")
        await until { hers.conversation.items.map(\.state) == [.stored] }
        hers.device.holdAcks()
        let second = hers.conversation.send("echo first")
        await until { hers.conversation.items.map(\.state) == [.stored, .stored] }
        let version = hers.conversation.version
        hers.device.release()
        await TestClock.settle()
        #expect(hers.conversation.items.map(\.id) == [first, second])
        #expect(hers.conversation.version == version)
        await hers.leave()
    }

    @Test("a receipt is sent once after half a second on the screen, soon or in the background")
    func receipts() async throws {
        let (hers, his) = (try await seat(of: ada), try await seat(of: ben))
        for text in ["one", "two"] { hers.conversation.send(text) }
        await until { his.conversation.items.count == 2 }
        for item in his.conversation.items { his.conversation.noteVisible([item]) }
        await clock.advance(by: .milliseconds(1_100))
        await until { hers.conversation.items.map(\.state) == [.read, .read] }
        #expect(his.count("messages:mark-read") == 1)
        hers.conversation.send("three")
        await until { his.conversation.items.count == 3 }
        his.conversation.noteVisible(his.conversation.items.suffix(1))
        await TestClock.settle()
        await clock.advance(by: .milliseconds(500))
        await his.client.enterBackground()
        await until { hers.conversation.items.map(\.state) == [.read, .read, .read] }
        await hers.leave()
    }
}
