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
    func farewell() async throws {
        await enterRoom()
        world.device.loseNextAnswer(droppingSocket: false)
        world.press(.control("c"))
        await world.clock.advance(by: .seconds(1))
        await world.end()
        #expect(world.clock.elapsed == .seconds(1))
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
}
