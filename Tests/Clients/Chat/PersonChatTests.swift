import ClientTestSupport
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ParlorChat

@MainActor
@Suite("The chat with a person in parlor-chat", .timeLimit(.minutes(1)))
struct PersonChatTests {
    private let harness: ChatHarness

    init() throws { harness = try ChatHarness() }

    /// Opens the chat with Ben, who has written "one" in the room Plans, and "two" in the room Trips.
    private func openChat() async throws -> String {
        let trips = try harness.server.makeRoom(by: harness.ben.id, with: harness.ada.id, name: "Trips")
        try harness.server.post("one", in: harness.roomID, by: harness.ben.id)
        try harness.server.post("two", in: trips, by: harness.ben.id)
        await harness.untilShown("› Trips")
        harness.press(.character("p"))
        await harness.untilShown { $0.contains("People") && $0.contains("› Trips") }
        harness.press(.up)
        await harness.untilShown("› ben")
        harness.press(.enter)
        await harness.untilShown { $0.contains("ben, Plans: one") && $0.contains("ben, Trips: two") }
        return trips
    }

    @Test("it has the messages of all shared rooms, and a message goes to the latest room, or to the chosen one")
    func rooms() async throws {
        let trips = try await openChat()
        await harness.untilShown("\nTrips> ")
        harness.write("hello")
        await harness.untilShown("You, Trips: hello  ✓")
        harness.write("/to pl")
        await harness.untilShown("\nPlans> ")
        harness.write("there")
        await harness.untilShown("You, Plans: there  ✓")
        #expect(harness.server.texts(in: trips) == ["two", "hello"])
        #expect(harness.server.texts(in: harness.roomID) == ["one", "there"])
        harness.write("/to x")
        await harness.untilShown("No room begins with “x”.")
        // The list shows the latest message after a pause.
        await harness.clock.advance(by: .seconds(1))
        harness.write("/to")
        await harness.untilShown { $0.contains("Rooms: Plans; Trips.") && $0.contains("\nPlans> ") }
        await harness.quit()
    }

    @Test("what it shows is read, and Esc goes back to the person")
    func reading() async throws {
        _ = try await openChat()
        await harness.untilShown { !$0.contains("checking…") }
        await harness.clock.advance(by: .milliseconds(600))
        harness.press(.escape)
        await harness.untilShown { $0.contains("People") && $0.contains("› ben") }
        for _ in 0..<20 where harness.display.text.contains("(") { await harness.clock.advance(by: .milliseconds(200)) }
        await harness.untilShown { !$0.contains("(") }
        await lookUntil { harness.device.requests.count { $0 == "messages:mark-read" } >= 2 }
        await harness.quit()
    }

    @Test("the person's last message is deleted in its room, once that is confirmed")
    func deleting() async throws {
        let trips = try await openChat()
        harness.write("/delete")
        await harness.untilShown("You have no message here.")
        harness.write("oops")
        await harness.untilShown("You, Trips: oops  ✓")
        harness.write("/delete")
        await harness.untilShown("Delete “oops”?")
        harness.press(.character("n"))
        await harness.untilShown("Nothing was done.")
        harness.write("/delete")
        await harness.untilShown("Delete “oops”?")
        harness.press(.character("y"))
        await harness.untilShown { $0.contains("The message was deleted.") && !$0.contains("Trips: oops") }
        #expect(harness.server.texts(in: trips) == ["two"])
        await harness.quit()
    }
}
