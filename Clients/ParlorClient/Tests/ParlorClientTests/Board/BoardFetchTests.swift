import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// A server that answers when the test allows it, with the elements at the time of the request.
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

/// A server that answers the first new element, and a clearing, when the test allows it.
private actor SlowChanges: ElementServer {
    let (creating, clearing) = (Gate(), Gate())
    /// The texts of new elements, and `clear`.
    private(set) var calls: [String] = []

    func makeElement(
        type: String, content: JSON?, position: Element.Position?, tempID: String?, in roomID: String
    ) async throws -> Element {
        calls.append(content?["text"]?.string ?? "")
        await creating.pass()
        return Element(
            id: tempID ?? "", roomID: roomID, type: type, content: content ?? [:], createdBy: "ada",
            createdAt: .distantPast, updatedBy: "ada", updatedAt: .distantPast, version: 1)
    }

    func clear(_ roomID: String) async throws -> Int {
        calls.append("clear")
        await clearing.pass()
        return 1
    }

    func elements(in roomID: String, limit: Int?, cursor: String?) async throws -> Page<Element> { Page(items: []) }
    func update(
        _ elementID: String, content: JSON?, position: PositionChange, version: Int?, in roomID: String
    ) async throws -> Element { throw ClientFailure.offline("not asked for") }
    func deleteElement(_ id: String, in roomID: String) async throws { throw ClientFailure.offline("not asked for") }
}

@MainActor
@Suite("Board: fetching and storing", .timeLimit(.minutes(1)))
struct BoardFetchTests {
    private let folder = TemporaryFolder()

    private func element(_ id: String) -> Element {
        Element(
            id: id, roomID: "room", type: "note", content: [:], createdBy: "ben",
            createdAt: Date(timeIntervalSince1970: 0),
            updatedBy: "ben", updatedAt: Date(timeIntervalSince1970: 0), version: 1)
    }

    private func board(_ server: any ElementServer, isBehind: Bool = false, clock: TestClock = TestClock()) -> Board {
        Board(
            roomID: "room", ownID: "ada", isBehind: isBehind, server: server,
            files: BoardFiles(files: RoomFiles(folder: folder.url)),
            clock: clock)
    }

    @Test("missed events are shown together: when the replay ends, or after a pause")
    func replay() async {
        let clock = TestClock()
        let board = board(SlowElements([]), isBehind: true, clock: clock)
        await board.keeper.restore()
        for number in 1...3 { board.apply(.event(.elementCreated(element("e\(number)")))) }
        #expect(board.items.isEmpty)
        await clock.untilSleeping(for: .milliseconds(100))
        await clock.advance(by: .milliseconds(100))
        await until { board.items.count == 3 }
        board.apply(.event(.elementDeleted(roomID: "room", elementID: "e2", deletedBy: "ben")))
        #expect(board.items.count == 3)
        board.apply(.recovered(true))
        #expect(board.items.map(\.id) == ["e1", "e3"])
        board.apply(.event(.elementCreated(element("e4"))))
        #expect(board.items.count == 3, "a live event is shown at once")
        await board.end()
    }

    @Test("events missed while a page is on its way are made up for by another fetch")
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

    @Test("a page requested before the room was cleared is ignored")
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

    @Test("a board that is being cleared sends no change: earlier ones are dropped, later ones are sent after it")
    func clearing() async throws {
        let server = SlowChanges()
        let board = board(server)
        func create(_ text: String) { board.create(type: "note", content: ["text": .string(text)]) }
        create("sent")
        await server.creating.isReached()
        create("dropped")
        let clearing = Task { try await board.clear() }
        await server.clearing.isReached()
        create("later")
        await server.creating.open()
        await lookUntil { board.unsentCount == 2 }
        await TestClock.settle()
        #expect(await server.calls == ["sent", "clear"])
        await server.clearing.open()
        try await clearing.value
        await lookUntil { board.unsentCount == 0 }
        #expect(await server.calls == ["sent", "clear", "later"])
        await board.end()
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

    @Test("a board that has ended ignores a late page, and writes nothing")
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

    private var changes: URL { folder.url.appending(path: "changes") }

    @Test("changes that cannot be read now are neither lost nor overtaken, and are read later")
    func locked() async throws {
        let first = board(SlowElements([]))
        first.create(type: "note", content: ["text": .string("first")])
        await first.keepAll()
        await first.end()
        let (file, hidden) = (changes.appending(path: "room.json"), folder.url.appending(path: "hidden"))
        // A folder in the place of the file cannot be read, just as a locked file cannot.
        try FileManager.default.moveItem(at: file, to: hidden)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)

        let second = board(SlowElements([]))
        await lookUntil { second.keepFailure != nil }
        #expect(!second.isSpare)
        second.create(type: "note", content: ["text": .string("second")])
        await second.keepAll()
        #expect(second.unsentCount == 1)
        try FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: hidden, to: file)
        second.apply(.connected)
        await lookUntil { second.unsentCount == 2 }
        #expect(second.items.map { $0.element.content["text"]?.string } == ["first", "second"])
        await second.keepAll()
        #expect(second.keepFailure == nil)
        #expect(try await BoardFiles(files: RoomFiles(folder: folder.url)).read("room").operations.count == 2)
        await second.end()
    }

    @Test("changes of another format are set aside, and stay there")
    func foreign() async throws {
        try FileManager.default.createDirectory(at: changes, withIntermediateDirectories: true)
        let foreign = Data("{\"format\": 9, \"roomID\": \"room\", \"items\": []}".utf8)
        try foreign.write(to: changes.appending(path: "room.json"))
        let board = board(SlowElements([]))
        await lookUntil { board.setAside != nil }
        board.create(type: "note", content: [:])
        await board.keepAll()
        let file = try #require(board.setAside)
        #expect(try Data(contentsOf: file) == foreign)
        #expect(try await BoardFiles(files: RoomFiles(folder: folder.url)).read("room").operations.count == 1)
        await board.end()
    }

    @Test("a sign-out deletes unsent changes even if the cached elements cannot be deleted")
    func removedAsFarAsPossible() async throws {
        let board = board(SlowElements([]))
        board.create(type: "note", content: [:])
        await board.keepAll()
        await board.end()
        let stubborn = RoomFiles(
            folder: folder.url,
            removeItem: { url in
                guard url.lastPathComponent == "changes" else { throw CocoaError(.fileWriteNoPermission) }
                try FileManager.default.removeItem(at: url)
            })
        let files = BoardFiles(files: stubborn)
        await files.keep([element("kept")], of: "room")
        await #expect(throws: CocoaError.self) { try await files.removeAll() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["elements"])
    }

    @Test("a change that the disk refuses sets the failure, and is written when there is space")
    func diskRefuses() async throws {
        let draft = changes.appending(path: "room.json.new")
        // A folder in the place of the file makes the write fail, just as a full disk does.
        try FileManager.default.createDirectory(at: draft, withIntermediateDirectories: true)
        let board = board(SlowElements([]))
        board.create(type: "note", content: [:])
        await lookUntil { board.keepFailure != nil }
        try FileManager.default.removeItem(at: draft)
        await board.keepAll()
        #expect(board.keepFailure == nil)
        #expect(try await BoardFiles(files: RoomFiles(folder: folder.url)).read("room").operations.count == 1)
        await board.end()
    }
}
