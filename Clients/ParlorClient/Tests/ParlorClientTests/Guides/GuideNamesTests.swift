import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@MainActor
@Suite("The guides' names", .timeLimit(.minutes(1)))
struct GuideNamesTests {
    private let clock = TestClock()
    private let folder = TemporaryFolder()
    private let server: ScriptedServer
    private let (ada, bob): (Person, Person)
    private let room: String
    private let client: RoomsClient

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, bob) = (server.addPerson("ada"), server.addPerson("bob", firstName: "Bob"))
        room = try server.makeRoom(by: ada.id, with: bob.id)
        try server.addElement(in: room, by: ada.id)
        try server.addElement(in: room, by: bob.id)
        let phone = server.makeDevice()
        client = phone.makeClient(of: ada, folder: folder.url)
    }

    private func start() async {
        await client.start()
        await until { client.connection == .connected && client.rooms.isLoaded && !client.rooms.counts.rooms.isEmpty }
    }

    @Test("the counts of a room, and none unseen once it is open")
    func counts() async throws {
        await start()
        let counts = client.rooms.counts
        #expect(counts.getElementCount(for: room) == 2 && counts.getUnseenCount(for: room) == 1)
        let row = try #require(client.rooms[room])
        #expect(row.displayElementCount == 2 && row.unseenElementCount == 1 && row.hasUnseenElements)
        #expect(row.relativeTime == row.lastActivityDate.relativeTime && Date.now.relativeTime == "now")
        let opened = client.open(row)
        await advanceUntil { counts.getUnseenCount(for: room) == 0 && client.rooms[room]?.hasUnseenElements == false }
        opened.close()
        await client.stop()
    }

    @Test("a message that is not stored is temporary, and has the same content afterwards")
    func messages() async throws {
        await start()
        let opened = client.open(try #require(client.rooms[room]))
        let conversation = opened.conversation
        conversation.send("Tea is ready")
        #expect(conversation.items.last?.isTemporary == true)
        await until { conversation.items.last?.isTemporary == false }
        let item = try #require(conversation.items.last)
        #expect(item.senderId == ada.id && item.relativeTime == item.createdAt.relativeTime)
        let message = try #require(item.message)
        #expect(message.content == "Tea is ready" && message.senderId == ada.id)
        #expect(message.relativeTime == item.relativeTime)
        await client.stop()
    }

    @Test("a person with rooms has the person's names")
    func people() async throws {
        await start()
        let person = try #require(client.rooms.people.first)
        #expect(person.firstName == "Bob" && person.username == "bob")
        await client.stop()
    }

    @Test("a changed number of elements is posted with its room, other changes are not")
    func notifications() async throws {
        await start()
        let center = NotificationCenter()
        var posted: [[Int]] = []
        let observer = center.addObserver(forName: .roomElementCountChanged, object: client, queue: nil) {
            [room] note in
            let (total, unseen) = (note.userInfo?["elementCount"] as? Int, note.userInfo?["unseenElementCount"] as? Int)
            let isRoom = note.userInfo?["roomId"] as? String == room
            MainActor.assumeIsolated { posted.append([isRoom ? 1 : 0, total ?? -1, unseen ?? -1]) }
        }
        let posting = Task { await client.postElementCounts(to: center) }
        await lookUntil { posted == [[1, 2, 1]] }
        try server.post("Hello", in: room, by: bob.id)
        await advanceUntil { client.rooms.counts[room].unreadMessages == 1 }
        try server.addElement(in: room, by: bob.id)
        await advanceUntil { posted.count > 1 }
        #expect(posted == [[1, 2, 1], [1, 3, 2]])
        posting.cancel()
        await posting.value
        center.removeObserver(observer)
        await client.stop()
    }

    /// Lets the pauses between two shown counts pass.
    private func advanceUntil(_ isSo: @MainActor () -> Bool) async {
        await lookUntil {
            await clock.advance(by: RoomCountManager.interval)
            return isSo()
        }
    }
}
