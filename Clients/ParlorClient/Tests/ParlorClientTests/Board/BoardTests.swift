import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of the boards of two people on a scripted server.
@MainActor
@Suite("Board", .timeLimit(.minutes(1)))
struct BoardTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let roomID: String
    private let folders = TemporaryFolder()

    private struct Seat {
        let client: RoomsClient
        let device: ScriptedDevice
        let board: Board

        @MainActor
        func text(_ id: String) -> String? { board[id]?.element.content["text"]?.string }
        @MainActor
        var texts: [String?] { board.items.map { $0.element.content["text"]?.string } }
    }

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
    }

    private func makeClient(_ person: Person, on device: ScriptedDevice) -> RoomsClient {
        device.makeClient(of: person, folder: folders.url.appending(path: person.id))
    }

    private func seat(of person: Person) async throws -> Seat {
        let device = server.makeDevice()
        let client = makeClient(person, on: device)
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        let board = client.openBoard(of: client.openConversation(try #require(client.rooms[roomID])))
        let conversation = try #require(client.local.conversations[roomID])
        await lookUntil { board.isVerified && conversation.isVerified }
        return Seat(client: client, device: device, board: board)
    }

    /// Returns both at a board with one note of hers, and its ids for her and for him.
    private func seatsAtNote() async throws -> (hers: Seat, his: Seat, id: BoardItem.ID, elementID: String) {
        let (hers, his) = (try await seat(of: ada), try await seat(of: ben))
        let id = try #require(hers.board.create(type: "note", content: note("plan")))
        await lookUntil { hers.board[id]?.state == .stored && his.board.items.count == 1 }
        let elementID = try #require(his.board.items.first?.id)
        return (hers, his, id, elementID)
    }

    private func note(_ text: String) -> JSON { ["text": .string(text)] }

    @Test("a change is shown at once, keeps its id when it is stored, and is sent to others")
    func live() async throws {
        let (hers, his) = (try await seat(of: ada), try await seat(of: ben))
        let id = try #require(hers.board.create(type: "note", content: note("Buy milk"), at: .init(x: 1, y: 2)))
        #expect(hers.board[id]?.state == .saving)
        #expect(hers.text(id) == "Buy milk")
        await lookUntil { hers.board[id]?.state == .stored && his.texts == ["Buy milk"] }
        let theirs = try #require(his.board.items.first)
        #expect(theirs.element.position == .init(x: 1, y: 2))

        his.board.edit(theirs.id, content: note("Buy oats"))
        his.board.move(theirs.id, to: .init(x: 5, y: 5))
        await clock.advance(by: BoardSender.movePause)
        await lookUntil { hers.text(id) == "Buy oats" && hers.board[id]?.element.position == .init(x: 5, y: 5) }
        hers.board.delete(id)
        #expect(hers.board.items.isEmpty)
        await lookUntil { his.board.items.isEmpty }
        for text in ["one", "two"] { his.board.create(type: "note", content: note(text)) }
        await lookUntil { hers.texts == ["one", "two"] }
        try await hers.board.clear()
        await lookUntil { his.board.items.isEmpty && hers.board.items.isEmpty }
        for seat in [hers, his] { await seat.client.stop() }
    }

    @Test("a clearing that is replayed after a reconnect removes no later elements")
    func clearedBefore() async throws {
        let hers = try await seat(of: ada)
        try server.addElement(in: roomID, by: ben.id)
        await lookUntil { hers.board.items.count == 1 }
        try server.clear(roomID, by: ben.id)
        await lookUntil { hers.board.items.isEmpty }
        let id = try server.addElement(in: roomID, by: ben.id)
        await lookUntil { hers.board.items.map(\.id) == [id] }
        hers.device.dropSockets()
        await lookUntil { hers.client.connection != .connected }
        await clock.advance(by: .seconds(1))
        await lookUntil { hers.client.connection == .connected && hers.board.isVerified && !hers.board.isLoading }
        await TestClock.settle()
        #expect(hers.board.items.map(\.id) == [id])
        await hers.board.refresh()
        #expect(hers.board.items.map(\.id) == [id])
        await hers.client.stop()
    }

    @Test("a board whose fetch failed is fetched again, also on the same connection")
    func fetchedAgain() async throws {
        let device = server.makeDevice()
        let client = makeClient(ada, on: device)
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded && !client.isBehind }
        let refusal = Refusal(code: "internal_error", message: "Out of order.", isRetryable: true)
        server.refuseNext("GET /api/rooms/\(roomID)/elements", with: refusal)
        let board = client.openBoard(of: client.openConversation(try #require(client.rooms[roomID])))
        await lookUntil { board.failure != nil && !board.isLoading }
        #expect(!board.isVerified)
        await clock.advance(by: .seconds(5))
        await lookUntil { board.isVerified }
        #expect(board.failure == nil)
        await client.stop()
    }

    @Test("a board that no screen shows is not fetched again")
    func notFetchedAgain() async throws {
        let hers = try await seat(of: ada)
        let name = "GET /api/rooms/\(roomID)/elements"
        server.refuseNext(name, with: Refusal(code: "internal_error", message: "Out of order.", isRetryable: true))
        await hers.board.refresh()
        #expect(hers.board.failure != nil)
        let fetches = hers.device.requests.count { $0 == name }
        await hers.client.local.boards.close(hers.board)
        await clock.advance(by: .seconds(60))
        #expect(hers.device.requests.count { $0 == name } == fetches)
        await hers.client.stop()
    }

    @Test("clearing a board keeps elements that are created meanwhile")
    func clearing() async throws {
        let hers = try await seat(of: ada)
        hers.board.create(type: "note", content: note("old"))
        await lookUntil { hers.board.items.first?.state == .stored }
        hers.device.delayAnswers(by: .seconds(5))
        let board = hers.board
        async let cleared: Void = board.clear()
        await lookUntil { hers.board.items.isEmpty }
        hers.board.create(type: "note", content: note("mine"))
        let fields: JSON = ["roomId": .string(roomID), "type": .string("note"), "content": note("his")]
        try server.act(as: ben.id, "element:create", fields)
        await lookUntil { Set(hers.texts) == ["mine", "his"] }
        await clock.advance(by: .seconds(5))
        try await cleared
        hers.device.delayAnswers(by: .zero)
        await clock.advance(by: .seconds(5))
        await lookUntil { hers.board.items.count == 2 && hers.board.items.allSatisfy { $0.state == .stored } }
        #expect(Set(hers.texts) == ["mine", "his"])
        await hers.client.stop()
    }

    @Test("a lost answer leads to no second element, and a change takes effect once")
    func idempotent() async throws {
        let hers = try await seat(of: ada)
        hers.device.loseNextAnswer(droppingSocket: false)
        let id = try #require(hers.board.create(type: "note", content: note("a")))
        await clock.advance(by: .seconds(2))
        await lookUntil { hers.board[id]?.state == .stored }
        hers.device.loseNextAnswer(droppingSocket: false)
        hers.board.edit(id, content: note("b"))
        await clock.advance(by: .seconds(2))
        await lookUntil { hers.board[id]?.state == .stored }
        await hers.board.refresh()
        #expect(hers.texts == ["b"])
        #expect(hers.board.conflicts.isEmpty)
        await hers.client.stop()
    }

    @Test("content that others changed first is not overwritten, and the conflict is shown")
    func conflicts() async throws {
        let (hers, his, id, elementID) = try await seatsAtNote()
        hers.device.holdEvents()
        his.board.edit(elementID, content: note("his plan"))
        await lookUntil { his.board[elementID]?.state == .stored }
        hers.board.edit(id, content: note("her plan"))
        await lookUntil { hers.board.conflicts.count == 1 }
        #expect(hers.text(id) == "his plan")
        #expect(hers.board.conflicts.first?.content == note("her plan"))
        hers.device.release()
        hers.board.resolve(try #require(hers.board.conflicts.first?.id), overwriting: true)
        await lookUntil { his.texts == ["her plan"] }
        #expect(hers.board.conflicts.isEmpty)
        for seat in [hers, his] { await seat.client.stop() }
    }

    @Test(
        "what was written into an element that others deleted stays, and becomes a new element",
        arguments: [false, true])
    func deletedWhileWriting(isCleared: Bool) async throws {
        let (hers, his, id, elementID) = try await seatsAtNote()
        hers.device.holdEvents()
        if isCleared { try await his.board.clear() } else { his.board.delete(elementID) }
        await lookUntil { his.board.items.isEmpty && his.board.unsentCount == 0 }
        hers.board.edit(id, content: note("her plan"))
        await lookUntil { hers.board.conflicts.count == 1 }
        hers.device.release()
        await hers.board.keepAll()
        await hers.client.endProcess()

        let again = try await seat(of: ada)
        let conflict = try #require(again.board.conflicts.first)
        #expect(conflict.isDeleted && conflict.content == note("her plan") && again.texts == [])
        again.board.resolve(conflict.id, overwriting: true)
        await lookUntil { his.texts == ["her plan"] }
        #expect(again.board.conflicts.isEmpty)
        for seat in [again, his] { await seat.client.stop() }
    }

    @Test("an edit that waits for the network stays when the deletion arrives first, unless it is the person's own")
    func deletedWhileOffline() throws {
        var state = BoardState(roomID: "r", ownID: "ada")
        let element = Element(
            id: "e", roomID: "r", type: "link", content: note("plan"), createdBy: "ben", createdAt: .distantPast,
            updatedBy: "ben", updatedAt: .distantPast, version: 1)
        state.put(element)
        state.edit("e", content: note("her plan"))
        state.move("e", to: nil)
        state.remove("e")
        #expect(state.conflicts.map(\.content) == [note("her plan")] && state.conflicts.allSatisfy(\.isDeleted))
        #expect(state.operations.isEmpty && state.items.isEmpty)
        state.resolve("e", overwriting: true, tempID: "t", at: .distantPast)
        #expect(state.items.map(\.element.type) == ["link"] && state.conflicts.isEmpty)

        // The person's own deletion keeps nothing.
        state = BoardState(roomID: "r", ownID: "ada")
        state.put(
            Element(
                id: "f", roomID: "r", type: "note", content: note(""), createdBy: "ben", createdAt: .distantPast,
                updatedBy: "ben", updatedAt: .distantPast, version: 1))
        state.edit("f", content: note("x"))
        let edit = state.takeNext()
        state.delete("f")
        state.conflict(try #require(edit).id, with: try #require(state.elements["f"]))
        #expect(state.conflicts.count == 1)
        let next = state.takeNext()
        state.finish(try #require(next).id, with: nil)
        #expect(state.conflicts.isEmpty)
    }

    @Test("who clears the board has no conflicts of what was on it")
    func clearedByOneself() async throws {
        let hers = try await seat(of: ada)
        let id = try #require(hers.board.create(type: "note", content: note("plan")))
        await lookUntil { hers.board[id]?.state == .stored }
        hers.board.edit(id, content: note("her plan"))
        try await hers.board.clear()
        await lookUntil { hers.board.items.isEmpty && hers.board.unsentCount == 0 }
        #expect(hers.board.conflicts.isEmpty)
        await hers.client.stop()
    }

    @Test("an unresolved conflict survives a restart")
    func keptConflict() async throws {
        let (hers, his, id, elementID) = try await seatsAtNote()
        hers.device.holdEvents()
        his.board.edit(elementID, content: note("his plan"))
        await lookUntil { his.board[elementID]?.state == .stored }
        hers.board.edit(id, content: note("her plan"))
        await lookUntil { hers.board.conflicts.count == 1 && hers.board.unsentCount == 0 }
        await hers.board.keepAll()
        #expect(try await hers.client.unsentCount() == 1, "a sign-out would discard it")
        await hers.client.endProcess()

        let again = try await seat(of: ada)
        #expect(again.board.conflicts.map(\.content) == [note("her plan")])
        #expect(again.texts == ["his plan"])
        again.board.resolve(elementID, overwriting: true)
        await lookUntil { his.texts == ["her plan"] }
        await again.board.keepAll()
        #expect(await again.client.local.boards.files.roomsWithChanges().isEmpty)
        for seat in [again, his] { await seat.client.stop() }
    }

    @Test(
        "changes made offline survive a restart, and are sent in order")
    func offline() async throws {
        let hers = try await seat(of: ada)
        let id = try #require(hers.board.create(type: "note", content: note("first")))
        await lookUntil { hers.board[id]?.state == .stored }
        hers.device.setAirplaneMode(true)
        hers.board.edit(id, content: note("edited"))
        for x in 1...50 { hers.board.move(id, to: .init(x: Double(x), y: 0)) }
        hers.board.create(type: "note", content: note("second"))
        // A drag is one change, or two if its first position is already being sent.
        #expect(hers.board.unsentCount <= 4)
        await hers.board.keepAll()
        await hers.client.endProcess()

        let device = server.makeDevice()
        let again = makeClient(ada, on: device)
        #expect(try await again.unsentCount() == hers.board.unsentCount, "they are counted before the start")
        #expect(device.requests.isEmpty)
        await again.start()
        let his = try await seat(of: ben)
        await lookUntil { his.texts == ["edited", "second"] }
        #expect(his.board.items.first?.element.position == .init(x: 50, y: 0))
        for client in [again, his.client] { await client.stop() }
    }

    @Test("a refused change has the reason, and can be discarded or sent again")
    func refused() async throws {
        let hers = try await seat(of: ada)
        let refusal = Refusal(code: "payload_too_large", message: "Too large.", status: 413)
        server.refuseNext("POST /api/rooms/\(roomID)/elements", with: refusal)
        let id = try #require(hers.board.create(type: "note", content: note("big")))
        let failure = SendFailure(code: "payload_too_large", message: "Too large.")
        await lookUntil { hers.board[id]?.state == .failed(failure) }
        hers.board.retry(id)
        await lookUntil { hers.board[id]?.state == .stored }
        server.refuseNext("POST /api/rooms/\(roomID)/elements", with: refusal)
        let other = try #require(hers.board.create(type: "note", content: note("big")))
        await lookUntil { hers.board[other]?.state == .failed(failure) }
        hers.board.discard(other)
        #expect(hers.texts == ["big"])
        await hers.client.stop()
    }

    @Test("after signing out, no board is left on the device")
    func signOut() async throws {
        let hers = try await seat(of: ada)
        hers.device.setAirplaneMode(true)
        hers.board.create(type: "note", content: note("secret"))
        await hers.board.keepAll()
        try await hers.client.signOut()
        let kept = try? FileManager.default.subpathsOfDirectory(atPath: folders.url.path)
        #expect((kept ?? []).allSatisfy { !$0.contains(".json") })
    }

    @Test("a board is the same for any order of versions, deletions and pages", arguments: Seeds.first(200))
    func anyOrder(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        // Elements "a" and "c" are equally old, so their ids decide.
        let ages = ["a": 2.0, "b": 1.0, "c": 2.0]
        func element(_ id: String, _ version: Int) -> Element {
            let date = Date(timeIntervalSince1970: ages[id] ?? 0)
            return Element(
                id: id, roomID: "r", type: "note", content: ["v": .integer(version)], createdBy: "x",
                createdAt: date, updatedBy: "x", updatedAt: date, version: version)
        }
        var state = BoardState(roomID: "r", ownID: "me")
        // In the first page "b" exists; in the second it is deleted.
        let pages = [[element("b", 2), element("a", 1)], [element("a", 3), element("c", 2)]]
        var steps: [(inout BoardState) -> Void] = []
        for id in ["a", "b", "c"] { for version in 1...4 { steps.append { $0.put(element(id, version)) } } }
        steps.append { $0.remove("b") }
        for step in steps.shuffled(using: &random) {
            // Each event comes before, during or after a fetch.
            if let page = pages.randomElement(using: &random), Bool.random(using: &random) {
                state.beginLoad()
                step(&state)
                let unnamed = state.elements.values.filter { kept in
                    kept.id != "b" && !page.contains { $0.id == kept.id }
                }
                state.finishLoad(with: page + unnamed)
            } else {
                step(&state)
            }
        }
        #expect(state.items.map(\.id) == ["a", "c"])
        #expect(state.items.allSatisfy { $0.element.version == 4 })
    }
}
