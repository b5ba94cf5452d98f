import Foundation
import RoomsClientTesting
import Testing

@testable import RoomsClient

/// The rules of a board, step by step.
@Suite("BoardState")
struct BoardStateTests {
    private var state = BoardState(ownID: "me")

    private func element(_ id: String, tempID: String? = nil, version: Int = 1) -> Element {
        Element(
            id: id, roomId: "room", type: "note", content: [:], createdBy: "me",
            createdAt: Date(timeIntervalSince1970: 0),
            updatedBy: "me", updatedAt: Date(timeIntervalSince1970: 0), version: version, tempId: tempID)
    }

    private mutating func create() { state.create("temp", type: "note", content: [:], position: nil, at: .distantPast) }

    @Test("an element that the server was never asked for is not deleted there")
    mutating func neverAsked() {
        create()
        state.delete("temp")
        #expect(state.operations.isEmpty && state.items.isEmpty)
    }

    @Test(
        "an element whose creation may have arrived is deleted at the server, also after a restart",
        arguments: [false, true])
    mutating func mayBeStored(isRestarted: Bool) throws {
        create()
        _ = state.takeNext()
        // No answer has come.
        state.putBack()
        if isRestarted {
            let kept = state.operations
            state = BoardState(ownID: "me")
            state.restore([], kept)
        }
        state.move("temp", to: nil)
        state.delete("temp")
        #expect(state.items.isEmpty)
        let creationTaken = state.takeNext()
        let creation = try #require(creationTaken)
        #expect(creation.isCreation)
        state.finish(creation.id, with: element("e1", tempID: "temp"))
        let deletionTaken = state.takeNext()
        let deletion = try #require(deletionTaken)
        #expect(deletion.elementID == "e1" && deletion.change == .delete)
        state.finish(deletion.id, with: nil)
        #expect(state.operations.isEmpty && state.items.isEmpty)
    }

    @Test("an element that is deleted while the server refuses to create it leaves nothing to do")
    mutating func refused() throws {
        create()
        let creationTaken = state.takeNext()
        let creation = try #require(creationTaken)
        state.delete("temp")
        state.fail(creation.id, SendFailure(code: "payload_too_large", message: "Too large."))
        #expect(state.operations.isEmpty && state.items.isEmpty)
    }

    @Test("versions of one's own are kept only while a change may be based on an earlier one")
    mutating func ownVersions() throws {
        state.put(element("e1"))
        for version in 2...50 {
            state.move("e1", to: Element.Position(x: Double(version), y: 0))
            let moveTaken = state.takeNext()
            let move = try #require(moveTaken)
            if version == 50 { state.edit("e1", content: ["text": .string("a")]) }
            state.finish(move.id, with: element("e1", version: version))
        }
        #expect(state.ownVersions["e1"] == [50])
    }
}

/// Answers when it is let, with the pages that it has then.
private actor SlowElements: ElementServer {
    private var gates: [Gate]
    private var stored: [Element] = []
    private(set) var fetches = 0

    init(_ gates: [Gate]) { self.gates = gates }

    func store(_ elements: [Element]) { stored = elements }

    func elements(in roomID: String, limit: Int?, cursor: String?) async throws -> Page<Element> {
        fetches += 1
        let answer = stored
        if !gates.isEmpty { await gates.removeFirst().pass() }
        return Page(items: answer)
    }

    func makeElement(
        type: String, content: JSON?, position: Element.Position?, tempID: String?, in roomID: String
    ) async throws -> Element { throw ClientFailure.offline("not asked for") }
    func update(
        _ elementID: String, content: JSON?, position: PositionChange, version: Int?, in roomID: String
    ) async throws -> Element { throw ClientFailure.offline("not asked for") }
    func deleteElement(_ id: String, in roomID: String) async throws { throw ClientFailure.offline("not asked for") }
    func clear(_ roomID: String) async throws -> Int { throw ClientFailure.offline("not asked for") }
}

@MainActor
@Suite("Board, fetching", .timeLimit(.minutes(1)))
struct BoardFetchTests {
    private let folder = TemporaryFolder()

    private func element(_ id: String) -> Element {
        Element(
            id: id, roomId: "room", type: "note", content: [:], createdBy: "ben",
            createdAt: Date(timeIntervalSince1970: 0),
            updatedBy: "ben", updatedAt: Date(timeIntervalSince1970: 0), version: 1)
    }

    private func board(_ server: SlowElements) -> Board {
        Board(
            roomID: "room", ownID: "ada", isAway: false, server: server, files: BoardFiles(folder: folder.url),
            clock: TestClock())
    }

    @Test("what was missed while a page was on its way is fetched after it")
    func missed() async {
        let gate = Gate()
        let server = SlowElements([gate])
        let board = board(server)
        board.noteOpened()
        await gate.isReached()
        await server.store([element("missed")])
        board.apply(.recovered(false))
        await gate.open()
        await lookUntil { !board.isLoading }
        #expect(board.items.map(\.id) == ["missed"])
        #expect(await server.fetches == 2)
    }

    @Test("a room that is cleared while a page is on its way shows nothing of that page")
    func cleared() async {
        let gate = Gate()
        let server = SlowElements([gate])
        await server.store([element("old")])
        let board = board(server)
        board.noteOpened()
        await gate.isReached()
        await server.store([])
        board.apply(.event(.roomCleared(roomID: "room", clearedBy: "ben")))
        await gate.open()
        await lookUntil { !board.isLoading }
        #expect(board.items.isEmpty)
    }

    @Test("a board that no screen shows is not verified, and is fetched when it is opened again")
    func closed() async {
        let server = SlowElements([])
        let board = board(server)
        board.noteOpened()
        await lookUntil { board.isVerified }
        board.noteClosed()
        #expect(!board.isVerified && board.isSpare)
        board.apply(.connected)
        board.apply(.recovered(false))
        await TestClock.settle()
        #expect(await server.fetches == 1)
        board.noteOpened()
        await lookUntil { board.isVerified }
        #expect(await server.fetches == 2)
    }

    @Test("a board that has ended shows and writes nothing of a page that comes late")
    func ended() async throws {
        let gate = Gate()
        let server = SlowElements([gate])
        await server.store([element("late")])
        let board = board(server)
        board.noteOpened()
        await gate.isReached()
        await board.end()
        await gate.open()
        await lookUntil { !board.isLoading }
        #expect(board.items.isEmpty)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path).isEmpty)
    }
}
