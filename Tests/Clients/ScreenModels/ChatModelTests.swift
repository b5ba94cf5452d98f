import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ScreenModels

@MainActor
@Suite("What a chat shows", .timeLimit(.minutes(1)))
struct ChatModelTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let ada: Person
    private let ben: Person
    private let roomID: String
    private let client: RoomsClient
    private let folder = TemporaryFolder()

    init() async throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id)
        client = await server.connectedClient(of: ada, folder: folder)
    }

    private var calendar: Calendar {
        get throws {
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
            return calendar
        }
    }

    @Test("the first message of each day has the line of its day, also when older messages come before it")
    func days() async throws {
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        for (text, pause) in [("one", 0), ("two", 60), ("three", 86_400), ("four", 60)] {
            await clock.advance(by: .seconds(pause))
            try server.post(text, in: roomID, by: ben.id)
            await until { conversation.items.last?.text == text }
        }
        let messages = DatedMessages(items: conversation.items, calendar: try calendar)
        #expect(messages.map(\.item.text) == ["one", "two", "three", "four"])
        #expect(messages.map(\.isFirstOfDay) == [true, false, true, false])
        #expect(messages.map(\.id) == conversation.items.map(\.id))
        await client.local.conversations.close(conversation)
    }

    @Test("a day is today or yesterday by the calendar, or a date")
    func dayNames() throws {
        let calendar = try calendar
        // 25 hours: summer time ends on this day.
        let midnight = try #require(calendar.date(from: DateComponents(year: 2026, month: 10, day: 25)))
        func day(_ seconds: Double, now: Double) -> Day {
            Day(of: midnight + seconds, now: midnight + now, calendar: calendar)
        }
        #expect(day(0, now: 0) == .today && day(5, now: 89_000) == .today && day(89_000, now: 5) == .today)
        #expect(day(-1, now: 0) == .yesterday && day(0, now: 25 * 3600) == .yesterday)
        #expect(day(-86_401, now: 0) == .date(midnight - 86_401))
    }

    @Test("a message's text has its addresses as links, and is the same text")
    func links() async throws {
        let text = "Look (www.example.com), or https://example.org/a_(b). javascript:alert(1)"
        try server.post(text, in: roomID, by: ben.id)
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await until { !conversation.items.isEmpty }
        let linked = conversation.items[0].linkedText
        #expect(String(linked.characters) == text)
        let links = linked.runs.compactMap { run in run.link.map { (String(linked[run.range].characters), $0) } }
        #expect(links.map(\.0) == ["www.example.com", "https://example.org/a_(b)"])
        #expect(links.map(\.1.absoluteString) == ["https://www.example.com", "https://example.org/a_(b)"])
        await client.local.conversations.close(conversation)
    }

    @Test("a reply to a notification is sent in its room, and needs the network only for a room that is not known")
    func replying() async throws {
        try await client.reply(" Yes ", in: roomID)
        await lookUntil { server.texts(in: roomID) == ["Yes"] }
        await #expect(throws: ClientFailure.self) { try await client.reply("Yes", in: "elsewhere") }
        await client.stop()
        try await client.reply("Later", in: roomID)
        await lookUntil { (try? await client.unsentCount()) == 1 }
    }

    @Test("an error without a text in the catalogue has the library's or the server's sentence")
    func sentences() {
        let refusal = Refusal(code: "polls_closed", message: "This poll is closed.")
        #expect(ClientFailure.refused(refusal).sentence == "This poll is closed.")
        #expect(SendFailure(code: "polls_closed", message: "Closed.").sentence == "Closed.")
    }
}

@MainActor
@Suite("ConnectionNotice", .timeLimit(.minutes(1)))
struct ConnectionNoticeTests {
    private let clock = TestClock()
    private let notice: ConnectionNotice

    init() { notice = ConnectionNotice { [clock] in try await clock.sleep(for: $0) } }

    @Test("a connection that is made within a second is not mentioned, a slower one is")
    func patience() async {
        let connecting = Task { await notice.follow(.connecting) }
        await clock.untilSleeping(1)
        await clock.advance(by: .milliseconds(999))
        #expect(notice.state == nil)
        await clock.advance(by: .milliseconds(1))
        await connecting.value
        #expect(notice.state == .connecting)
        await notice.follow(.connected)
        #expect(notice.state == nil)

        let quick = Task { await notice.follow(.connecting) }
        await clock.untilSleeping(1)
        quick.cancel()
        await quick.value
        await clock.advance(by: .seconds(2))
        #expect(notice.state == nil)
    }

    @Test("a lost connection is mentioned until there is one, also while the client tries, unless the person asks")
    func lost() async {
        let failure = ClientFailure.offline("no network")
        await notice.follow(.waiting(failure))
        #expect(notice.state == .waiting(failure))
        await notice.follow(.connecting)
        #expect(notice.state == .waiting(failure))
        notice.noteRequest()
        #expect(notice.state == .connecting)
        await notice.follow(.ended(.signedOut))
        #expect(notice.state == .ended(.signedOut))
        await notice.follow(.connected)
        #expect(notice.state == nil)
    }

    @Test("a client in the background has nothing to say, and a second to connect when the app returns")
    func background() async {
        await notice.follow(.waiting(.offline("no network")))
        await notice.follow(.idle)
        #expect(notice.state == nil)
        let returning = Task { await notice.follow(.connecting) }
        await clock.untilSleeping(1)
        #expect(notice.state == nil)
        await clock.advance(by: .seconds(1))
        await returning.value
        #expect(notice.state == .connecting)
    }
}
