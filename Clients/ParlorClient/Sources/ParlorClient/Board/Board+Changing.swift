// The person's own changes. Each is shown at once, and sent when the server can be reached.
extension Board {
    /// Creates an element on the board.
    ///
    /// - Parameters:
    ///   - type: `note`, `image`, `link`, or an app's own type: `[a-z][a-z0-9_-]{0,31}`.
    ///   - content: a JSON object of at most 64 KiB.
    /// - Returns: the item's id, which stays the same when the server stores the element. It is nil, and nothing is
    ///   created, if the room is gone, or after a sign-out. ``failure`` then says so.
    @discardableResult
    public func create(type: String, content: JSON, at position: Element.Position? = nil) -> BoardItem.ID? {
        if isEnded { return nil }
        let tempID = makeID()
        act { $0.create(tempID, type: type, content: content, position: position, at: clock.now) }
        return tempID
    }

    /// Replaces an item's content.
    ///
    /// The edit is based on the content that is shown when this is called. If others have changed or deleted the element
    /// since then, that stays, and ``conflicts`` has this content.
    ///
    /// Does nothing for an element whose content is not whole (``Element/isContentWhole``).
    public func edit(_ id: BoardItem.ID, content: JSON) {
        let shown = self[id]?.element
        guard shown?.isContentWhole != false else { return }
        act { $0.edit($0.elementID(of: id), content: content, shown: shown?.version) }
    }

    /// Moves an item, or removes its position if `position` is nil.
    ///
    /// An app may call this for every position of a drag: the item is shown there at once, and the latest position is
    /// sent and stored at most ten times a second. If others move the item too, the last move wins.
    public func move(_ id: BoardItem.ID, to position: Element.Position?) {
        act { $0.move($0.elementID(of: id), to: position) }
        holdMoves()
    }

    /// Deletes an item for everyone, and drops its unsent changes and its conflict.
    public func delete(_ id: BoardItem.ID) { act { $0.delete($0.elementID(of: id)) } }

    /// Deletes all elements of the room for everyone, and drops the changes and conflicts from before this call.
    ///
    /// The request is sent once and not retried later: a late deletion would remove elements that were never shown
    /// here. Elements that are created here during the call stay: changes made meanwhile are sent after it.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`; unsent changes then stay.
    public func clear() async throws {
        if isEnded { throw failure ?? ClientFailure.stopped }
        await restore()
        let (earlier, known) = (Set(state.operations.map(\.id)), state.knownIDs)
        // A change that is sent meanwhile could reach the server before the clearing, or bring an element back after it.
        clearings += 1
        defer {
            clearings -= 1
            send()
        }
        _ = try await server.clear(roomID)
        act { state in
            state.discard(earlier)
            state.dropConflicts(of: known)
        }
        // This fetch removes the cleared elements even if no event arrives, and keeps those that others created since.
        load()
    }

    /// Sends the refused changes of an item again.
    public func retry(_ id: BoardItem.ID) {
        act { $0.retry($0.elementID(of: id)) }
        endPause()
    }

    /// Drops the unsent and refused changes of an item, except one that is being sent.
    public func discard(_ id: BoardItem.ID) { act { $0.discard($0.elementID(of: id)) } }

    /// Settles a conflict.
    ///
    /// - Parameter overwriting: true to send the person's content again, which replaces that of the others, or creates
    ///   an element in place of a deleted one; false to drop the person's content.
    public func resolve(_ id: BoardConflict.ID, overwriting: Bool) {
        let (tempID, now) = (makeID(), clock.now)
        act { $0.resolve(id, overwriting: overwriting, tempID: tempID, at: now) }
    }
}
