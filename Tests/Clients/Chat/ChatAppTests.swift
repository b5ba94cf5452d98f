import ClientTestSupport
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ParlorChat

@MainActor
@Suite("parlor-chat", .timeLimit(.minutes(1)))
struct ChatAppTests {
    private let harness: ChatHarness

    init() throws { harness = try ChatHarness() }

    private func enterRoom() async {
        await harness.untilShown("› Plans  ben, 0 elements")
        harness.press(.enter)
        await harness.untilShown { $0.contains("\n> ") && !$0.contains("checking…") }
    }

    @Test("a connection that answers nothing blocks nobody: Esc leaves the room, and Ctrl-C the program")
    func halfOpen() async throws {
        await enterRoom()
        harness.device.loseNextAnswer(droppingSocket: false)
        harness.press(.escape)
        await harness.untilShown("Rooms of ada")
        harness.device.delayAnswers(by: .seconds(30))
        harness.press(.character("n"))
        harness.write("Trips")
        await harness.untilShown("…")
        harness.press(.character("r"), .character("p"))
        await harness.untilShown("People")
        harness.device.delayAnswers(by: .zero)
        await harness.quit()
    }

    @Test("a badge of a plugin is in the room's row, and goes with its last count")
    func otherBadges() async throws {
        await harness.untilShown("› Plans  ben, 0 elements")
        /// Waits until the list would show the next event at once. It shows events at most once in 100 ms.
        func rest() async {
            await harness.clock.untilSleeping(for: .milliseconds(100))
            await harness.clock.advance(by: .seconds(1))
        }
        harness.server.setBadge("polls", to: 2, in: harness.roomID, of: harness.ada.id)
        await harness.untilShown(" polls 2  ")
        await rest()
        harness.server.setBadge("dice", to: 100, in: harness.roomID, of: harness.ada.id)
        await harness.untilShown(" dice 99+, polls 2  ")
        await rest()
        harness.server.setBadge("polls", to: 0, in: harness.roomID, of: harness.ada.id)
        await harness.untilShown { $0.contains(" dice 99+  ") && !$0.contains("polls") }
        await harness.quit()
    }

    @Test("quitting in a room waits at most a second for the server")
    func shutdownGrace() async throws {
        await enterRoom()
        harness.device.loseNextAnswer(droppingSocket: false)
        harness.press(.control("c"))
        await harness.clock.advance(by: .seconds(1))
        await harness.untilOver()
        #expect(harness.clock.elapsed == .seconds(1))
    }

    @Test("quitting stores typed messages and sends receipts, even of a room that was just left")
    func quittingAtOnce() async throws {
        try harness.server.post("Hello", in: harness.roomID, by: harness.ben.id)
        await enterRoom()
        await harness.untilShown("ben: Hello")
        await harness.clock.advance(by: .milliseconds(500))
        harness.write("Hi!")
        harness.press(.escape, .character("q"))
        await harness.untilOver()
        #expect(harness.device.requests.contains("messages:mark-read"))
        #expect(
            try await harness.client.local.outbox.unsentCount() == 1
                || harness.server.texts(in: harness.roomID).contains("Hi!"))
        await harness.untilOver()
    }

    @Test("what was typed in a room is there on the next visit, until it is sent")
    func draft() async throws {
        await enterRoom()
        for character in "half a sen" { harness.press(.character(character)) }
        await harness.untilShown("> half a sen")
        harness.press(.escape)
        await harness.untilShown("Rooms of ada")
        await enterRoom()
        await harness.untilShown("> half a sen")
        harness.write("tence")
        await harness.untilShown("You: half a sentence")
        harness.press(.escape)
        await harness.untilShown("Rooms of ada")
        await enterRoom()
        await harness.untilShown { $0.contains("You: half a sentence") && !$0.contains("> half") }
        await harness.quit()
    }

    @Test("only messages that were drawn are read")
    func reading() async throws {
        for number in 1...30 { try harness.server.post("number \(number).", in: harness.roomID, by: harness.ben.id) }
        await harness.untilShown("(30)")
        harness.press(.enter)
        await harness.untilShown { $0.contains("number 1.") && $0.contains("number 8.") && !$0.contains("number 9.") }
        // The messages are visible long enough to count as read.
        await harness.clock.advance(by: .milliseconds(600))
        harness.press(.pageDown)
        await harness.untilShown {
            $0.contains("number 6.") && $0.contains("number 14.") && !$0.contains("number 15.")
        }
        await harness.clock.advance(by: .milliseconds(600))
        harness.press(.escape)
        await harness.untilShown("Rooms of ada")
        await harness.clock.advance(by: .seconds(1))
        await harness.untilShown("(16)")
        await harness.quit()
    }

    @Test("a room opens at the first unread message, and stays where the person has scrolled")
    func firstUnread() async throws {
        for number in 1...5 { try harness.server.post("old \(number).", in: harness.roomID, by: harness.ada.id) }
        for number in 1...12 { try harness.server.post("new \(number).", in: harness.roomID, by: harness.ben.id) }
        await harness.untilShown("(12)")
        harness.press(.enter)
        await harness.untilShown { $0.contains("ben: new 1.") && $0.contains("new 9.") && !$0.contains("old 5.") }
        harness.press(.up)
        await harness.untilShown { $0.contains("You: old 5.") && !$0.contains("new 9.") }
        harness.write("Hello")
        await harness.untilShown { $0.contains("You: Hello") && $0.contains("new 12.") && !$0.contains("new 1.") }
        await harness.quit()
    }

    @Test("/read marks all messages as read, also those that were never shown")
    func markingAllRead() async throws {
        for number in 1...30 { try harness.server.post("number \(number).", in: harness.roomID, by: harness.ben.id) }
        await harness.untilShown("(30)")
        harness.press(.enter)
        await harness.untilShown("number 1.")
        harness.write("/read")
        await harness.untilShown("All messages are marked as read.")
        harness.press(.escape)
        await harness.untilShown("Rooms of ada")
        await harness.clock.advance(by: .seconds(1))
        await harness.untilShown { !$0.contains("(") }
        await harness.quit()
    }

    @Test("a failure is shown above the list")
    func failing() async throws {
        await harness.untilShown("› Plans")
        let refusal = Refusal(code: "internal_error", message: "Out of order.", isRetryable: true)
        harness.server.refuseNext("GET /api/rooms/my-rooms", with: refusal)
        harness.press(.character("r"))
        await harness.untilShown { $0.contains("Out of order.") && $0.contains("› Plans") }
        _ = harness.server.addPerson("cleo")
        harness.press(.character("+"))
        await harness.untilShown { $0.contains("cleo") && !$0.contains("Out of order.") }
        harness.server.refuseNext("GET /api/users/without-rooms", with: refusal)
        harness.write("d")
        await harness.untilShown { $0.contains("Out of order.") && $0.contains("› cleo") }
        await harness.quit()
    }

    @Test("a waiting command does not block the keys, and shows its outcome at the end")
    func command() async throws {
        await enterRoom()
        harness.write("/board")
        await harness.untilShown("The board is empty.")
        harness.press(.escape)
        harness.device.delayAnswers(by: .seconds(20))
        harness.write("/clear")
        harness.press(.character("y"))
        harness.write("Hello")
        await harness.untilShown("You: Hello")
        await harness.clock.untilSleeping(for: .seconds(20))
        await harness.clock.advance(by: .seconds(20))
        await harness.untilShown("Everything on the board was deleted.")
        harness.device.delayAnswers(by: .zero)
        await harness.quit()
    }

    @Test("a person who returns to a room at once is in it")
    func back() async throws {
        await enterRoom()
        harness.press(.escape, .enter)
        await harness.untilShown("\n> ")
        try harness.server.post("Still there?", in: harness.roomID, by: harness.ben.id)
        await harness.untilShown("ben: Still there?")
        await harness.quit()
    }

    @Test("a pasted text is one message with its lines, and two slashes begin one that starts with a slash")
    func writing() async throws {
        await enterRoom()
        harness.press(.paste("one\ntwo"))
        await harness.untilShown("> one⏎two")
        harness.write("")
        await harness.untilShown("two  ✓")
        harness.write("//home")
        await harness.untilShown("You: /home  ✓")
        #expect(harness.server.texts(in: harness.roomID) == ["one\ntwo", "/home"])
        harness.write("/home/ada")
        await harness.untilShown("> /home/ada")
        await harness.untilShown("Unknown command.")
        await harness.quit()
    }

    @Test("a message that is too long stays in the input, which counts, and is sent once it is short enough")
    func tooLong() async throws {
        await enterRoom()
        harness.press(.paste(String(repeating: "a", count: 3_990)))
        await harness.untilShown("10 characters left")
        harness.press(.paste(String(repeating: "b", count: 13)))
        await harness.untilShown("3 characters too many")
        harness.press(.enter, .backspace, .backspace)
        await harness.untilShown("1 character too many")
        harness.press(.backspace)
        await harness.untilShown("0 characters left")
        #expect(harness.server.texts(in: harness.roomID).isEmpty)
        harness.press(.enter)
        await harness.untilShown("✓")
        #expect(harness.server.texts(in: harness.roomID).map(\.count) == [4_000])
        #expect(harness.client.drafts[harness.roomID].isEmpty)
        await harness.quit()
    }

    @Test("/edit takes a failed message back into the input")
    func takingBack() async throws {
        await enterRoom()
        harness.write("/edit")
        await harness.untilShown("Nothing has failed.")
        harness.server.refuseNext("message:send", with: Refusal(code: "forbidden", message: "Not now."))
        harness.write("//home sweet hme")
        await harness.untilShown("not sent: Not now.")
        harness.write("/edit")
        await harness.untilShown { $0.contains("> //home sweet hme") && !$0.contains("not sent") }
        harness.press(.backspace, .backspace, .character("o"), .character("m"), .character("e"), .enter)
        await harness.untilShown("You: /home sweet home  ✓")
        #expect(harness.server.texts(in: harness.roomID) == ["/home sweet home"])
        await harness.quit()
    }

    @Test("commands that cannot be undone ask first")
    func asking() async throws {
        for _ in 1...2 { try harness.server.addElement(in: harness.roomID, by: harness.ben.id) }
        await harness.untilShown("2 elements")
        harness.press(.enter)
        await harness.untilShown("\n> ")
        harness.write("Hello")
        await harness.untilShown("You: Hello  ✓")
        harness.write("/delete")
        await harness.untilShown("Delete “Hello”?")
        harness.press(.character("n"))
        await harness.untilShown("Nothing was done.")
        harness.write("/delete")
        harness.press(.character("y"))
        await harness.untilShown("The message was deleted.")
        harness.write("/clear")
        await harness.untilShown("Delete everything on the board?")
        harness.press(.character("y"))
        await harness.untilShown("Everything on the board was deleted.")
        #expect(harness.server.texts(in: harness.roomID).isEmpty)
        await harness.quit()
    }

    @Test("/name without a name keeps the room's name, and shows what it needs", arguments: ["/name", "/name  "])
    func nameless(command: String) async throws {
        await enterRoom()
        harness.write(command)
        await harness.untilShown { $0.contains("\n/name NAME ") || !$0.hasPrefix("Plans ") }
        #expect(harness.display.text.hasPrefix("Plans "))
        harness.write("/name Trips")
        await harness.untilShown { $0.hasPrefix("Trips ") }
        #expect(harness.device.requests.count { $0.hasSuffix("/name") } == 1)
        await harness.quit()
    }

    @Test("the board shows all elements, and scrolls")
    func board() async throws {
        for number in 1...250 {
            let fields: JSON = [
                "roomId": .string(harness.roomID), "type": .string("note"),
                "content": ["text": .string("note \(number).")],
            ]
            try harness.server.act(as: harness.ben.id, "element:create", fields)
        }
        await harness.untilShown("250 elements")
        harness.press(.enter)
        await harness.untilShown("\n> ")
        harness.write("/board")
        await harness.untilShown("• note 1.")
        for _ in 1...25 { harness.press(.pageDown) }
        await harness.untilShown("• note 250.")
        harness.press(.escape)
        await harness.untilShown("\n> ")
        await harness.quit()
    }

    @Test("the board is live, and single elements can be changed and deleted")
    func liveBoard() async throws {
        await enterRoom()
        harness.write("/board")
        await harness.untilShown("The board is empty.")
        for text in ["milk", "bread"] {
            let fields: JSON = [
                "roomId": .string(harness.roomID), "type": .string("note"), "content": ["text": .string(text)],
            ]
            try harness.server.act(as: harness.ben.id, "element:create", fields)
        }
        await harness.untilShown { $0.contains("• milk  #1") && $0.contains("• bread  #2") }
        harness.press(.escape)
        harness.write("/edit 1 oats")
        await harness.untilShown("Changing “milk”.")
        harness.write("/remove 2")
        await harness.untilShown("Deleting “bread”.")
        harness.write("/board")
        await harness.untilShown { $0.contains("• oats  #1") && !$0.contains("bread") && !$0.contains("…") }
        harness.press(.escape)
        await harness.quit()
    }

    @Test("long messages scroll by lines, and every line can be seen")
    func scrolling() async throws {
        let long = (1...40).map { "word\($0)." }.joined(separator: " ")
        try harness.server.post(long, in: harness.roomID, by: harness.ben.id)
        for number in 1...8 { try harness.server.post("short \(number)", in: harness.roomID, by: harness.ben.id) }
        await enterRoom()
        for _ in 1...3 { harness.press(.pageDown) }
        await harness.untilShown("short 8")
        var seen = Set<String>()
        for _ in 0..<30 {
            for number in 1...40 where harness.display.text.contains("word\(number).") { seen.insert("word\(number).") }
            harness.press(.up)
            await TestClock.settle()
        }
        #expect(seen.count == 40)
        await harness.quit()
    }

    @Test("messages that arrive or disappear below a view that is scrolled up do not move it")
    func arrivalsBelow() async throws {
        for number in 1...30 { try harness.server.post("number \(number).", in: harness.roomID, by: harness.ben.id) }
        await enterRoom()
        for _ in 1...6 { harness.press(.pageDown) }
        await harness.untilShown("number 30.")
        for _ in 1...3 { harness.press(.up) }
        await harness.untilShown { $0.contains("number 27.") && !$0.contains("number 28.") }
        let long = (1...40).map { "word\($0)." }.joined(separator: " ")
        let last = try harness.server.post(long, in: harness.roomID, by: harness.ben.id)
        try harness.server.post("short.", in: harness.roomID, by: harness.ben.id)
        let conversation = harness.client.openConversation(try #require(harness.client.rooms[harness.roomID]))
        await lookUntil { conversation.items.last?.text == "short." }
        await TestClock.settle()
        #expect(harness.display.text.contains("number 27.") && !harness.display.text.contains("number 28."))
        try harness.server.deleteMessage(last, in: harness.roomID, by: harness.ben.id)
        await lookUntil { !conversation.items.contains { $0.text == long } }
        await TestClock.settle()
        #expect(harness.display.text.contains("number 27.") && !harness.display.text.contains("number 28."))
        // Numbers 28 to 30 and the new message are below.
        for _ in 1...4 { harness.press(.down) }
        await harness.untilShown("short.")
        await harness.client.local.conversations.close(conversation)
        await harness.quit()
    }

    @Test("people are loaded page by page, and a typed name is searched")
    func strangers() async throws {
        for number in 100..<180 { _ = harness.server.addPerson("person\(number)") }
        await harness.untilShown("› Plans")
        harness.press(.character("+"))
        await harness.untilShown { $0.contains("› ben") && $0.contains("person100") }
        harness.press(.down)
        await harness.untilShown("› person100")
        for _ in 1...5 { harness.press(.pageDown) }
        await harness.untilShown("person150")
        for _ in 1...4 { harness.press(.pageDown) }
        await harness.untilShown("› person179")
        harness.write("person11")
        await harness.untilShown("› person110")
        harness.press(.enter)
        await harness.untilShown("A room with person110")
        await harness.quit()
    }

    @Test("a second room with the same person begins like the first one")
    func secondRoom() async throws {
        await harness.untilShown("› Plans")
        harness.press(.character("+"))
        await harness.untilShown("› ben  @ben, 1 room")
        harness.press(.enter)
        await harness.untilShown("A room with ben")
        harness.write("Holidays")
        await harness.untilShown("› Holidays")
        harness.press(.character("+"))
        await harness.untilShown("› ben  @ben, 2 rooms")
        harness.write("xyz")
        await harness.untilShown("Nobody found.")
        harness.press(.escape)
        await harness.quit()
    }
}
