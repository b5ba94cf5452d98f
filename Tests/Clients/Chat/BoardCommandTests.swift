import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ParlorChat

@MainActor
@Suite("parlor-chat: commands that change the board", .timeLimit(.minutes(1)))
struct BoardCommandTests {
    private let harness: ChatHarness
    private var creation: String { "POST /api/rooms/\(harness.roomID)/elements" }

    init() throws { harness = try ChatHarness() }

    private func enterRoom() async {
        await harness.untilShown("› Plans  ben, 0 elements")
        harness.press(.enter)
        await harness.untilShown { $0.contains("\n> ") && !$0.contains("checking…") }
    }

    private let later = Refusal(code: "unavailable", message: "Later.", isRetryable: true)

    /// Writes a note whose first request fails.
    private func writeNote(failing refusal: Refusal) {
        harness.server.refuseNext(creation, with: refusal)
        harness.write("/note milk")
    }

    @Test("a note whose request fails stays on the board, and is sent later")
    func note() async throws {
        await enterRoom()
        writeNote(failing: later)
        await harness.untilShown("The note is on the board.")
        harness.write("/board")
        await harness.untilShown("• milk  #1")
        while harness.display.text.contains("…") { await harness.clock.advance(by: .seconds(10)) }
        #expect(harness.display.text.contains("• milk  #1"))
        #expect(!harness.display.text.contains("not saved"))
        let stored = try await harness.client.api.elements(in: harness.roomID).items
        #expect(stored.map { $0.content["text"] } == [.string("milk")])
        harness.press(.escape)
        await harness.quit()
    }

    @Test("a note that the server refuses for good stays on the board with the reason, which the room points to")
    func refusedNote() async throws {
        await enterRoom()
        writeNote(failing: Refusal(code: "invalid_field", message: "Too long."))
        await harness.untilShown("1 not saved: /board")
        harness.write("/board")
        await harness.untilShown("• milk  #1  not saved: Too long.")
        harness.press(.escape)
        await harness.quit()
    }

    @Test("clearing the board drops changes that wait to be sent, so that nothing comes back")
    func clearing() async throws {
        await enterRoom()
        writeNote(failing: later)
        await harness.untilShown("The note is on the board.")
        harness.write("/clear")
        harness.press(.character("y"))
        await harness.untilShown("Everything on the board was deleted.")
        await harness.clock.advance(by: .seconds(60))
        harness.write("/board")
        await harness.untilShown { $0.contains("The board is empty.") || $0.contains("milk") }
        #expect(!harness.display.text.contains("milk"))
        #expect(harness.device.requests.count { $0 == creation } <= 1)
        harness.press(.escape)
        await harness.quit()
    }

    @Test("an edit of content that cannot be read completely is not made, and says why")
    func unreadableContent() async throws {
        await enterRoom()
        let element = """
            {"id":"e","roomId":"\(harness.roomID)","type":"note","content":{"text":"milk","n":1e400},"position":null,
            "createdBy":"\(harness.ben.id)","createdAt":"2024-12-17T09:45:00.123Z","version":1}
            """
        let page = Data(#"{"data":[\#(element)],"page":{"next":null}}"#.utf8)
        harness.device.interceptNextRequests(
            with: page, headers: ["content-type": "application/json"])
        harness.write("/board")
        await harness.untilShown("• milk  #1")
        harness.press(.escape)
        harness.write("/edit 1 oats")
        await harness.untilShown {
            $0.contains("Not changed: this program cannot read all of “milk”.") || $0.contains("Changing")
        }
        #expect(!harness.display.text.contains("Changing"))
        await harness.quit()
    }
}
