import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ScreenModels

@MainActor
@Suite("ReadingArea", .timeLimit(.minutes(1)))
struct ReadingAreaTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let client: RoomsClient
    private let conversation: Conversation
    private let folder = TemporaryFolder()

    init() async throws {
        server = ScriptedServer(clock: clock)
        let (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        let roomID = try server.makeRoom(by: ada.id, with: ben.id)
        try server.post("Hello", in: roomID, by: ben.id)
        try server.post("Are you there?", in: roomID, by: ben.id)
        client = await server.connectedClient(of: ada, folder: folder)
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await until { conversation.isVerified && !conversation.isLoading }
        self.conversation = conversation
    }

    private func isRead(_ index: Int) -> Bool { conversation.items[index].message?.readBy.isEmpty == false }

    /// Half a second passes, and what is to be sent then is sent.
    private func read() async {
        await clock.untilSleeping(for: .milliseconds(500))
        await clock.advance(by: .milliseconds(500))
        await clock.advance(by: .seconds(2))
    }

    /// The second message is read meanwhile: the first would have been, too.
    private func readOther() async {
        conversation.noteVisible([conversation.items[1]])
        await read()
        await until { isRead(1) }
    }

    @Test("what has been on a shown screen for half a second is read")
    func shown() async {
        let area = ReadingArea(conversation)
        area.isShown = true
        area.appeared(conversation.items[0])
        await read()
        await until { isRead(0) }
        #expect(!isRead(1))
    }

    @Test("what another screen covers is not read, until that is gone")
    func covered() async {
        let area = ReadingArea(conversation)
        area.appeared(conversation.items[0])
        area.isShown = true
        area.isShown = false
        await readOther()
        #expect(!isRead(0))
        area.isShown = true
        await read()
        await until { isRead(0) }
    }

    @Test("a row is visible if half of it is, or if it fills half of the list")
    func half() {
        func shows(_ top: Double, _ bottom: Double) -> Bool { ReadingArea.shows(from: top, to: bottom, ofHeight: 600) }
        #expect(shows(0, 100) && shows(-50, 50) && shows(550, 650))
        #expect(!shows(-51, 49) && !shows(551, 651) && !shows(-100, 0) && !shows(700, 800))
        #expect(shows(-1200, 600) && shows(300, 2000) && shows(-1500, 300), "higher than the list")
        #expect(!shows(301, 2000) && !shows(-1500, 299))
    }

    @Test("what comes onto a screen that is covered is not read")
    func comesCovered() async {
        let area = ReadingArea(conversation)
        area.appeared(conversation.items[0])
        await readOther()
        #expect(!isRead(0))
    }

    @Test("a row that has left the screen is not read when the screen comes back")
    func gone() async {
        let area = ReadingArea(conversation)
        area.appeared(conversation.items[0])
        area.disappeared(conversation.items[0])
        area.isShown = true
        await readOther()
        #expect(!isRead(0))
    }
}
