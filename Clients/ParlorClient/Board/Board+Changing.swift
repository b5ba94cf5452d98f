// The person's own changes.
extension Board {
    /// - Parameter content: a JSON object of at most 64 KiB.
    /// - Returns: the item's id.
    @discardableResult
    public func create(type: String, content: JSON, at position: Element.Position? = nil) -> BoardItem.ID {
        let tempID = makeID()
        act { $0.create(tempID, type: type, content: content, position: position, at: clock.now) }
        return tempID
    }

    /// Replaces the content. If others changed it since it was shown, theirs stays, and ``conflicts`` has
    /// this one.
    public func edit(_ id: BoardItem.ID, content: JSON) {
        act { $0.edit($0.elementID(of: id), content: content) }
    }

    /// Moves an item. It may be called for every position of a drag: unsent positions are merged into one
    /// change.
    public func move(_ id: BoardItem.ID, to position: Element.Position?) {
        act { $0.move($0.elementID(of: id), to: position) }
    }

    public func delete(_ id: BoardItem.ID) { act { $0.delete($0.elementID(of: id)) } }

    /// Deletes all elements, for everyone. It needs a connection: a later deletion would remove elements that
    /// were never shown here. Elements created meanwhile stay.
    ///
    /// - Throws: `ClientFailure`.
    public func clear() async throws {
        await restore()
        let earlier = Set(state.operations.map(\.id))
        _ = try await server.clear(roomID)
        act { $0.discard(earlier) }
        // Others may have created elements since, whose events arrived before the answer.
        load()
    }

    /// Sends a refused change again.
    public func retry(_ id: BoardItem.ID) {
        act { $0.retry($0.elementID(of: id)) }
        endPause()
    }

    /// Drops the unsent changes of an element.
    public func discard(_ id: BoardItem.ID) { act { $0.discard($0.elementID(of: id)) } }

    /// - Parameter overwriting: true to replace the others' content, false to drop the own one.
    public func resolve(_ id: BoardConflict.ID, overwriting: Bool) { act { $0.resolve(id, overwriting: overwriting) } }
}
