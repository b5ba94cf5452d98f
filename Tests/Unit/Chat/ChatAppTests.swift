import RoomsClient
import RoomsClientTesting
import Testing

@testable import Chat

@MainActor
@Suite("parlor-chat", .timeLimit(.minutes(1)))
struct ChatAppTests {
    private let world: ChatWorld

    init() throws { world = try ChatWorld() }

    private func quit() async {
        world.press(.control("c"))
        await world.end()
    }

    private func enterRoom() async {
        await world.untilShown("› Plans  ben, 0 elements")
        world.press(.enter)
        await world.untilShown { $0.contains("\n> ") && !$0.contains("checking…") }
    }

    @Test("a connection that answers nothing holds nobody: Esc leaves the room, and Ctrl-C the program")
    func halfOpen() async throws {
        await enterRoom()
        world.device.loseNextAnswer(droppingSocket: false)
        world.press(.escape)
        await world.untilShown("Rooms of ada")
        world.device.delayAnswers(by: .seconds(30))
        world.press(.character("n"))
        world.write("Trips")
        await world.untilShown("…")
        world.press(.character("r"), .character("p"))
        await world.untilShown("People")
        world.device.delayAnswers(by: .zero)
        await quit()
    }

    @Test("quitting in a room gives the server a second to answer, and no more")
    func shutdownGrace() async throws {
        await enterRoom()
        world.device.loseNextAnswer(droppingSocket: false)
        world.press(.control("c"))
        await world.clock.advance(by: .seconds(1))
        await world.end()
        #expect(world.clock.elapsed == .seconds(1))
    }

    @Test("quitting keeps what was typed, and tells what was read, also in a room that is only just being left")
    func quittingAtOnce() async throws {
        try world.server.post("Hello", in: world.roomID, by: world.ben.id)
        await enterRoom()
        await world.untilShown("ben: Hello")
        world.write("Hi!")
        world.press(.escape, .character("q"))
        await world.untilOver()
        #expect(world.device.requests.contains("messages:mark-read"))
        #expect(
            try await world.client.outbox.unsentCount() == 1 || world.server.texts(in: world.roomID).contains("Hi!"))
        await world.end()
    }

    @Test("what was drawn is read, and nothing else")
    func reading() async throws {
        for number in 1...30 { try world.server.post("number \(number).", in: world.roomID, by: world.ben.id) }
        await world.untilShown("(30)")
        world.press(.enter)
        await world.untilShown { $0.contains("number 30.") && $0.contains("number 22.") && !$0.contains("number 21.") }
        world.press(.pageUp)
        await world.untilShown { $0.contains("number 24.") && $0.contains("number 16.") && !$0.contains("number 25.") }
        world.press(.escape)
        await world.untilShown("Rooms of ada")
        await world.clock.advance(by: .seconds(1))
        await world.untilShown("(15)")
        await quit()
    }

    @Test("what could not be asked is said above what is shown")
    func failing() async throws {
        await world.untilShown("› Plans")
        let refusal = Refusal(code: "internal_error", message: "Out of order.", isRetryable: true)
        world.server.refuseNext("GET /api/rooms/my-rooms", with: refusal)
        world.press(.character("r"))
        await world.untilShown { $0.contains("Out of order.") && $0.contains("› Plans") }
        _ = world.server.addPerson("cleo")
        world.press(.character("+"))
        await world.untilShown { $0.contains("› cleo") && !$0.contains("Out of order.") }
        world.server.refuseNext("GET /api/users/without-rooms", with: refusal)
        world.write("d")
        await world.untilShown { $0.contains("Out of order.") && $0.contains("› cleo") }
        await quit()
    }

    @Test("a command that waits leaves the keys to whoever types, and says at last what became of it")
    func command() async throws {
        await enterRoom()
        world.device.delayAnswers(by: .seconds(20))
        world.write("/note milk")
        world.write("Hello")
        await world.untilShown("You: Hello")
        await world.clock.advance(by: .seconds(20))
        await world.untilShown("On the board.")
        world.device.delayAnswers(by: .zero)
        await quit()
    }

    @Test("whoever comes back to a room at once is in it")
    func back() async throws {
        await enterRoom()
        world.press(.escape, .enter)
        await world.untilShown("\n> ")
        try world.server.post("Still there?", in: world.roomID, by: world.ben.id)
        await world.untilShown("ben: Still there?")
        await quit()
    }

    @Test("a pasted text is one message, with its lines, and two slashes begin one with a slash")
    func writing() async throws {
        await enterRoom()
        world.press(.paste("one\ntwo"))
        await world.untilShown("> one⏎two")
        world.write("")
        await world.untilShown("two  ✓")
        world.write("//home")
        await world.untilShown("You: /home  ✓")
        #expect(world.server.texts(in: world.roomID) == ["one\ntwo", "/home"])
        world.write("/home/ada")
        await world.untilShown("> /home/ada")
        await world.untilShown("No command.")
        await quit()
    }

    @Test("what cannot be undone is asked first")
    func asking() async throws {
        for _ in 1...2 { try world.server.addElement(in: world.roomID, by: world.ben.id) }
        await world.untilShown("2 elements")
        world.press(.enter)
        await world.untilShown("\n> ")
        world.write("Hello")
        await world.untilShown("You: Hello  ✓")
        world.write("/delete")
        await world.untilShown("Delete “Hello”?")
        world.press(.character("n"))
        await world.untilShown("Nothing was done.")
        world.write("/delete")
        world.press(.character("y"))
        await world.untilShown("The message is gone.")
        world.write("/clear")
        await world.untilShown("Take everything off the board?")
        world.press(.character("y"))
        await world.untilShown("2 elements are gone.")
        #expect(world.server.texts(in: world.roomID).isEmpty)
        await quit()
    }

    @Test("the board shows all there is, and scrolls")
    func board() async throws {
        for number in 1...250 {
            let fields: JSON = [
                "roomId": .string(world.roomID), "type": .string("note"),
                "content": ["text": .string("note \(number).")],
            ]
            try world.server.act(as: world.ben.id, "element:create", fields)
        }
        await world.untilShown("250 elements")
        world.press(.enter)
        await world.untilShown("\n> ")
        world.write("/board")
        await world.untilShown("• note 1.")
        for _ in 1...25 { world.press(.pageDown) }
        await world.untilShown("• note 250.")
        world.press(.escape)
        await world.untilShown("\n> ")
        await quit()
    }

    @Test("people come page by page, and a name is searched as it is typed")
    func strangers() async throws {
        for number in 100..<180 { _ = world.server.addPerson("person\(number)") }
        await world.untilShown("› Plans")
        world.press(.character("+"))
        await world.untilShown("› person100")
        for _ in 1...5 { world.press(.pageDown) }
        await world.untilShown("person150")
        for _ in 1...4 { world.press(.pageDown) }
        await world.untilShown("› person179")
        world.write("person11")
        await world.untilShown("› person110")
        world.press(.enter)
        await world.untilShown("A room with person110")
        await quit()
    }
}
