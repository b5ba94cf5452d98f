import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of drags: moves in quick succession.
@MainActor
@Suite("Board: moves", .timeLimit(.minutes(1)))
struct BoardMoveTests {
    private let home: AdasDevice
    private let elementID: String
    private let client: RoomsClient

    init() throws {
        home = try AdasDevice()
        elementID = try home.server.addElement(in: home.roomID, by: home.ben.id)
        client = home.makeClient()
    }

    private func openBoard() async throws -> Board {
        await home.connect(client)
        let board = client.openBoard(of: client.openConversation(try #require(client.rooms[home.roomID])))
        await lookUntil { board.isVerified && board.items.count == 1 }
        return board
    }

    private var path: String { "/api/rooms/\(home.roomID)/elements/\(elementID)" }
    private var patches: Int { home.device.requests.count { $0 == "PATCH \(path)" } }

    private func stored() async throws -> [BoardOperation.Change] {
        try await client.local.boards.files.read(home.roomID).operations.map(\.change)
    }

    @Test("the positions of a drag are shown at once; after a pause the latest is sent, in one request")
    func drag() async throws {
        let board = try await openBoard()
        for x in 1...20 {
            board.move(elementID, to: .init(x: Double(x), y: 0))
            #expect(board[elementID]?.element.position == .init(x: Double(x), y: 0))
            await TestClock.settle()
        }
        #expect(patches == 0)
        #expect(try await stored() == [], "nothing is written either")
        await home.clock.advance(by: BoardSender.movePause)
        await lookUntil { board.unsentCount == 0 }
        #expect(patches == 1)
        #expect(board[elementID]?.element.position == .init(x: 20, y: 0))
        await client.stop()
    }

    @Test("a change of the moved element does not wait, and comes after the move")
    func otherChange() async throws {
        let board = try await openBoard()
        board.move(elementID, to: .init(x: 1, y: 1))
        board.edit(elementID, content: ["text": .string("moved")])
        // The clock stands still, so no pause has ended.
        await lookUntil { board.unsentCount == 0 }
        #expect(patches == 2)
        #expect(board[elementID]?.element.position == .init(x: 1, y: 1))
        board.move(elementID, to: .init(x: 2, y: 2))
        board.delete(elementID)
        await lookUntil { board.unsentCount == 0 }
        #expect(home.device.requests.last { $0.hasSuffix(path) } == "DELETE \(path)")
        await client.stop()
    }

    @Test("going to the background sends a move at once, and a stop writes it at once", arguments: [false, true])
    func leaving(stops: Bool) async throws {
        let board = try await openBoard()
        board.move(elementID, to: .init(x: 1, y: 1))
        if stops {
            await client.stop()
            await lookUntil { (try? await stored()) == [.move(.init(x: 1, y: 1))] }
        } else {
            #expect(await client.enterBackground() == .settled)
            #expect(patches == 1)
        }
    }

    @Test("a board that waits until its changes are sent does not wait for the next position of a drag")
    func settling() async throws {
        let board = try await openBoard()
        board.move(elementID, to: .init(x: 1, y: 1))
        // The clock stands still, so no pause has ended.
        await board.sender.settle()
        #expect(board.unsentCount == 0 && patches == 1)
        await client.stop()
    }

    @Test("a board whose client is gone writes no waiting move, because the next client writes the same file")
    func clientGone() async throws {
        let board = try await openBoard()
        board.move(elementID, to: .init(x: 1, y: 1))
        await board.end()
        #expect(try await stored() == [])
        await client.stop()
    }

    @Test("the positions of a drag without a connection are written once in a pause")
    func offline() async throws {
        let board = try await openBoard()
        home.device.setAirplaneMode(true)
        board.move(elementID, to: .init(x: 1, y: 0))
        await home.clock.advance(by: BoardSender.movePause)
        await lookUntil { (try? await stored()) == [.move(.init(x: 1, y: 0))] }
        for x in 2...20 { board.move(elementID, to: .init(x: Double(x), y: 0)) }
        await TestClock.settle()
        #expect(try await stored() == [.move(.init(x: 1, y: 0))])
        await home.clock.advance(by: BoardSender.movePause)
        await lookUntil { (try? await stored()) == [.move(.init(x: 20, y: 0))] }
        await client.stop()
    }

    @Test("a move that the server refuses because of a version has failed, and is not repeated by itself")
    func versionConflict() async throws {
        let board = try await openBoard()
        home.server.refuseNext("PATCH \(path)", with: Refusal(code: "version_conflict", message: "No.", status: 409))
        board.move(elementID, to: .init(x: 1, y: 1))
        await home.clock.advance(by: BoardSender.movePause)
        await lookUntil { board[elementID]?.state != .saving }
        #expect(board[elementID]?.state == .failed(SendFailure(code: "version_conflict", message: "No.")))
        #expect(patches == 1)
        board.retry(elementID)
        await lookUntil { board[elementID]?.state == .stored }
        await client.stop()
    }
}
