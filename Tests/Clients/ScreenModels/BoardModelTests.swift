import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ScreenModels

@MainActor
@Suite("A board's models", .timeLimit(.minutes(1)))
struct BoardModelTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let ben: Person
    private let roomID: String
    private let board: Board
    private let opened: OpenRoom
    private let client: RoomsClient
    private let folder = TemporaryFolder()

    init() async throws {
        server = ScriptedServer(clock: clock)
        let ada = server.addPerson("ada")
        ben = server.addPerson("ben")
        roomID = try server.makeRoom(by: ada.id, with: ben.id)
        client = await server.connectedClient(of: ada, folder: folder)
        let opened = client.open(try #require(client.rooms[roomID]))
        let board = opened.board
        await until { board.isVerified }
        (self.opened, self.board) = (opened, board)
    }

    private func edit(_ element: Element, _ text: String) throws {
        try server.act(
            as: ben.id, "element:update",
            .object(["roomId": .string(roomID), "elementId": .string(element.id), "content": .note(text)]))
    }

    // MARK: Layout

    @Test("the first element is at the margin, wherever it is, and its place leads back to its position")
    func layout() throws {
        let ids = try [(-300.0, 40.0), (500, -7.5)].map { x, y in
            try #require(board.create(type: Element.note, content: .note("x"), at: Element.Position(x: x, y: y)))
        }
        let layout = BoardLayout(board.items)
        #expect(layout.place(of: ids[0]) == CGPoint(x: 24, y: 71.5))
        #expect(layout.place(of: ids[1]) == CGPoint(x: 824, y: 24))
        #expect(layout.size == CGSize(width: 1008 + 48, height: 191.5 + 48))
        #expect(layout.position(of: ids[0], movedBy: .zero) == Element.Position(x: -300, y: 40))
        #expect(layout.position(of: ids[1], movedBy: CGSize(width: 1, height: -2)) == Element.Position(x: 501, y: -9.5))
    }

    @Test("elements without positions do not cover each other, and a new note is below all")
    func unplaced() {
        for _ in 1...7 { board.create(type: Element.note, content: .note("x")) }
        let layout = BoardLayout(board.items)
        let frames = board.items.map { CGRect(origin: layout.place(of: $0.id), size: $0.element.size) }
        for (index, frame) in frames.enumerated() {
            #expect(!frames[(index + 1)...].contains { $0.intersects(frame) })
        }
        let below = layout.freePosition.y
        #expect(board.items.allSatisfy { layout.position(of: $0.id, movedBy: .zero).y + 144 <= below })
        #expect(BoardLayout([]).freePosition == Element.Position(x: 0, y: 0))
    }

    @Test("one element far away does not make the board endless, and one without numbers is shown")
    func stray() {
        board.create(type: Element.note, content: .note("near"), at: Element.Position(x: 0, y: 0))
        board.create(type: Element.note, content: .note("far"), at: Element.Position(x: 1e12, y: .infinity))
        let size = BoardLayout(board.items).size
        #expect(size.width < 21_000 && size.height < 200)
    }

    // MARK: Drafts

    @Test("a new note is saved with its text")
    func newNote() throws {
        let draft = NoteDraft()
        #expect(draft.text.isEmpty && draft.now(on: board) == .unchanged)
        #expect(draft.save("Buy milk", on: board))
        #expect(board.items.map(\.element.words) == ["Buy milk"])
        #expect(try #require(board.items.first).element.position == Element.Position(x: 0, y: 0))
    }

    @Test("saving a text keeps what other clients have put into the content")
    func otherMembers() async throws {
        let content = JSON.object([
            "text": .string("Buy milk"), "tint": .integer(3), "w": .integer(300), "h": .number(9),
        ])
        let id = try #require(board.create(type: Element.note, content: content))
        await until { board[id]?.state == .stored }
        #expect(try NoteDraft(#require(board[id])).save("Buy tea", on: board))
        let element = try #require(board[id]).element
        #expect(element.words == "Buy tea" && element.content["tint"] == .integer(3))
        #expect(element.size == CGSize(width: 300, height: 144))
    }

    @Test("an editor notices that others have changed or deleted the note, and saves a deleted one anew")
    func meanwhile() async throws {
        let id = try #require(board.create(type: Element.note, content: .note("Buy milk")))
        await until { board[id]?.state == .stored }
        let draft = NoteDraft(try #require(board[id]))
        board.move(id, to: Element.Position(x: 1, y: 1))
        await clock.advance(by: .milliseconds(100))
        await until { board[id]?.state == .stored }
        #expect(draft.now(on: board) == .unchanged)

        let element = try #require(board[id]).element
        try edit(element, "Buy oats")
        await until { draft.now(on: board) == .changed(theirs: "Buy oats") }
        #expect(draft.save("Buy tea", on: board))
        await until { board[id]?.state == .stored }
        #expect(board[id]?.element.words == "Buy tea" && board.conflicts.isEmpty)

        try server.deleteElement(element.id, in: roomID, by: ben.id)
        await until { draft.now(on: board) == .deleted }
        #expect(draft.save("Buy milk after all", on: board))
        #expect(board.items.map(\.element.words) == ["Buy milk after all"])
    }
}
