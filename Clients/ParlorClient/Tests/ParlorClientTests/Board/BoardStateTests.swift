import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of a board's rules, step by step.
@Suite("BoardState")
struct BoardStateTests {
    private var state = BoardState(roomID: "room", ownID: "me")

    private func element(_ id: String, tempID: String? = nil, version: Int = 1) -> Element {
        Element(
            id: id, roomID: "room", type: "note", content: [:], createdBy: "me",
            createdAt: Date(timeIntervalSince1970: 0),
            updatedBy: "me", updatedAt: Date(timeIntervalSince1970: 0), version: version, tempID: tempID)
    }

    private mutating func create() { state.create("temp", type: "note", content: [:], position: nil, at: .distantPast) }

    /// Returns the operation to send next. `#require` itself cannot call a mutating function.
    private mutating func taken() throws -> BoardOperation {
        // The pause after a move is the board's.
        state.releaseMoves()
        let taken = state.takeNext()
        return try #require(taken)
    }

    @Test("an element whose creation was never sent needs no deletion")
    mutating func neverAsked() {
        create()
        state.delete("temp")
        #expect(state.operations.isEmpty && state.items.isEmpty)
    }

    @Test(
        "an element whose creation may have arrived is deleted on the server, also after a restart",
        arguments: [false, true])
    mutating func mayBeStored(isRestarted: Bool) throws {
        create()
        _ = state.takeNext()
        // The answer is lost.
        state.putBack()
        if isRestarted {
            let kept = state.operations
            state = BoardState(roomID: "room", ownID: "me")
            state.restore([], kept)
        }
        state.move("temp", to: nil)
        state.delete("temp")
        #expect(state.items.isEmpty)
        let creation = try taken()
        #expect(creation.isCreation)
        state.finish(creation.id, with: element("e1", tempID: "temp"))
        let deletion = try taken()
        #expect(deletion.elementID == "e1" && deletion.change == .delete)
        state.finish(deletion.id, with: nil)
        #expect(state.operations.isEmpty && state.items.isEmpty)
    }

    @Test("an element deleted before its creation is refused leaves nothing to send")
    mutating func refused() throws {
        create()
        let creation = try taken()
        state.delete("temp")
        state.fail(creation.id, SendFailure(code: "payload_too_large", message: "Too large."))
        #expect(state.operations.isEmpty && state.items.isEmpty)
    }

    @Test("an element that is newer than a replayed clearing returns")
    mutating func clearedAgain() {
        state.put(element("e1"))
        state.removeAll()
        #expect(state.items.isEmpty)
        state.put(element("e1"))
        #expect(state.items.map(\.id) == ["e1"])
    }

    @Test("a change survives a clearing, unless the next fetch lacks its element")
    mutating func changedBeforeClearing() {
        for id in ["old", "new"] {
            state.put(element(id))
            state.edit(id, content: ["text": .string("mine")])
        }
        create()
        state.removeAll()
        state.beginLoad()
        state.finishLoad(with: [element("new")])
        #expect(state.operations.map(\.elementID) == ["new", "temp"])
        #expect(state.elements.keys.sorted() == ["new"])
    }

    @Test("discarding keeps the change being sent, and drops all changes of elements that were not created")
    mutating func discarded() throws {
        state.put(element("e1"))
        state.move("e1", to: nil)
        let move = try taken()
        create()
        let earlier = Set(state.operations.map(\.id))
        state.move("temp", to: nil)
        state.create("later", type: "note", content: [:], position: nil, at: .distantPast)
        state.discard(earlier)
        #expect(state.operations.map(\.id).contains(move.id))
        #expect(state.operations.map(\.elementID) == ["e1", "later"])
    }

    @Test("edits that wait behind an own change are based on its version")
    mutating func rebased() throws {
        create()
        state.edit("temp", content: ["text": .string("a")])
        let creation = try taken()
        state.finish(creation.id, with: element("e1", tempID: "temp"))
        let edit = try taken()
        #expect(edit.change == .edit(content: ["text": .string("a")], version: 1))
        state.move("e1", to: nil)
        state.edit("e1", content: ["text": .string("b")])
        state.finish(edit.id, with: element("e1", version: 2))
        let move = try taken()
        state.finish(move.id, with: element("e1", version: 3))
        let next = state.takeNext()
        #expect(next?.change == .edit(content: ["text": .string("b")], version: 3))
    }

    @Test("an edit that waits behind others' change keeps its base version")
    mutating func notRebased() throws {
        state.put(element("e1"))
        state.move("e1", to: nil)
        let move = try taken()
        state.edit("e1", content: ["text": .string("mine")])
        // Another person has made version 2.
        state.finish(move.id, with: element("e1", version: 3))
        let next = state.takeNext()
        #expect(next?.change == .edit(content: ["text": .string("mine")], version: 1))
    }

    @Test("an edit of an element whose creation was answered late is based on version 1")
    mutating func editedBeforeAnswer() throws {
        create()
        let creation = try taken()
        state.edit("temp", content: ["text": .string("mine")])
        // The answer to an earlier attempt was lost, and others have changed the element since.
        state.finish(creation.id, with: element("e1", tempID: "temp", version: 2))
        let next = state.takeNext()
        #expect(next?.change == .edit(content: ["text": .string("mine")], version: 1))
    }

    @Test(
        "others' change of an element is a conflict, if the answer to its creation was lost",
        arguments: [false, true])
    mutating func changedBeforeAnswer(comesEventFirst: Bool) throws {
        create()
        let creation = try taken()
        state.edit("temp", content: ["text": .string("mine")])
        let theirs = element("e1", tempID: "temp", version: 2)
        if comesEventFirst { state.put(theirs) }
        state.finish(creation.id, with: theirs)
        let edit = try taken()
        #expect(edit.change == .edit(content: ["text": .string("mine")], version: 1))
        #expect(!state.isOwnMove(theirs, since: edit))
    }

    @Test("an edit is based on the version that is shown, also if a later one is known already")
    mutating func editedDuringReplay() throws {
        state.put(element("e1"))
        state.put(element("e1", version: 2))
        state.edit("e1", content: ["text": .string("mine")], shown: 1)
        #expect(try taken().change == .edit(content: ["text": .string("mine")], version: 1))
    }

    @Test("elements that are not stored come last, in the order of creation, whatever the device's clock says")
    mutating func order() throws {
        for text in ["z", "a"] {
            state.create(text, type: "note", content: [:], position: nil, at: .distantPast)
        }
        state.put(element("e2"))
        state.put(element("e1"))
        #expect(state.items.map(\.id) == ["e1", "e2", "z", "a"])
        #expect(state.items.allSatisfy { $0.element.roomID == "room" })
        let creation = try taken()
        state.finish(creation.id, with: element("e3", tempID: "z"))
        state.remove("e1")
        #expect(state.items.map(\.id) == ["e2", "z", "a"])
    }

    @Test("pages requested before a clearing are ignored")
    mutating func clearedMeanwhile() {
        state.beginLoad()
        state.removeAll()
        state.finishLoad(with: [element("old")])
        #expect(state.items.isEmpty)
    }

    @Test("own versions are kept only while a change may be based on an earlier one")
    mutating func ownVersions() throws {
        state.put(element("e1"))
        for version in 2...50 {
            state.move("e1", to: Element.Position(x: Double(version), y: 0))
            let move = try taken()
            if version == 50 { state.edit("e1", content: ["text": .string("a")]) }
            state.finish(move.id, with: element("e1", version: version))
        }
        #expect(state.ownVersions["e1"] == [50])
    }
}
