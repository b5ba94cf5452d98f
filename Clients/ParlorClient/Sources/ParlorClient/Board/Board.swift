import Foundation
import Observation

/// One room's board: its elements, which events keep up to date.
///
/// A change is shown at once, stored on disk, and sent in order as soon as the server can be reached, also after a
/// restart. A change that is sent twice takes effect once. ``OpenRoom/board`` opens one.
@MainActor
@Observable
public final class Board {
    public let roomID: String
    /// The items, oldest first.
    public var items: [BoardItem] { contents.items }
    /// The person's content that the server did not store, because others had changed or deleted the element first. Each
    /// conflict stays on disk until ``resolve(_:overwriting:)``, or until the person deletes the element.
    public var conflicts: [BoardConflict] { contents.conflicts }
    /// True if everything shown has been fetched, and later changes arrive as events because the room is joined.
    public var isVerified: Bool { loading.isFetched && !loading.isBehind && isRoomJoined() }
    /// True while elements are being fetched.
    public var isLoading: Bool { loading.isLoading }
    /// Why the last fetch failed; nil if it succeeded. The items stay, unless the room is gone (`room_not_found`) or
    /// the person has signed out.
    public var failure: ClientFailure? { loading.failure }
    /// The number of changes that the server has not confirmed, including refused ones.
    public var unsentCount: Int { contents.unsentCount }
    /// Why changes cannot be read or stored on disk; nil if they can. While this is set, changes that are not on disk
    /// are lost when the app ends.
    public var keepFailure: String? { keeper.failure }
    /// A file with earlier changes that this version of the library cannot read; nil if there is none.
    public var setAside: URL? { keeper.setAside }

    /// Returns true if the conversation, which joins the room for the board, has joined it.
    @ObservationIgnored var isRoomJoined: @MainActor () -> Bool = { true }
    @ObservationIgnored let sender: BoardSender
    @ObservationIgnored private let contents: BoardContents
    @ObservationIgnored private let loading: Loading
    @ObservationIgnored let keeper: BoardKeeper
    @ObservationIgnored private let server: any ElementServer
    @ObservationIgnored private let clock: any ClientClock
    @ObservationIgnored private let makeID: @Sendable () -> String
    /// The number of screens that show the board. While it is 0, only a conflict, ``refresh()`` and ``clear()`` fetch.
    @ObservationIgnored private var screens = 0

    /// The server's maximum size of a page of elements.
    private static let pageSize = 500

    init(
        roomID: String, ownID: String, isBehind: Bool, server: any ElementServer, files: BoardFiles,
        clock: any ClientClock, makeID: @escaping @Sendable () -> String = { UUID().uuidString },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.roomID = roomID
        self.server = server
        self.clock = clock
        self.makeID = makeID
        contents = BoardContents(BoardState(roomID: roomID, ownID: ownID), clock: clock)
        loading = Loading(
            isBehind: isBehind, isOpen: false, backoff: Backoff(from: .seconds(5)), clock: clock, random: random)
        keeper = BoardKeeper(roomID: roomID, contents: contents, loading: loading, files: files, clock: clock)
        sender = BoardSender(
            roomID: roomID, contents: contents, keeper: keeper, loading: loading, server: server, clock: clock,
            random: random)
        connectParts()
        keeper.beginRestoring()
    }

    private func connectParts() {
        // `weak`: the parts hold each other.
        contents.onChange = { [weak keeper] in keeper?.note($0) }
        keeper.onRestored = { [weak sender] in sender?.send() }
        sender.onOutdated = { [weak self] in self?.loadIfShown() }
        loading.fetch = { [weak self] in
            try await self?.fetch()
            return nil
        }
    }

    public subscript(id: BoardItem.ID) -> BoardItem? { items.first { $0.id == id } }

    // MARK: Updates

    /// Applies an update of the socket. Events of other rooms are ignored.
    package func apply(_ update: SocketUpdate) {
        switch update {
        case .connecting: break
        case .connected:
            sender.endPause()
            if !loading.isFetched { loadIfShown() }
            // A running send loop may have failed to read the stored changes. It ends without another attempt, so they
            // are read here.
            keeper.beginRestoring()
            sender.send()
        case .refusedRoom, .joined: break
        case .recovered(let isWhole):
            loading.isBehind = false
            contents.show()
            if !isWhole || !loading.isFetched { loadIfShown() }
        case .disconnected: loading.isBehind = true
        case .event(let event): apply(event)
        }
    }

    private func apply(_ event: RoomEvent) {
        switch event {
        case .elementCreated(let element) where element.roomID == roomID,
            .elementUpdated(let element) where element.roomID == roomID:
            change { $0.put(element) }
        case .elementDeleted(roomID, let id, _): change { $0.remove(id) }
        case .roomCleared(roomID, _):
            sender.noteCleared()
            change { $0.removeAll() }
            // Pages that are being fetched may be older than the clearing.
            if isShown || loading.isLoading { load() }
        default: break
        }
    }

    /// Applies an event.
    private func change(_ body: (inout BoardState) -> Void) {
        if loading.isBehind { contents.changeSoon(body) } else { contents.change(body) }
    }

    /// Fetches all elements. Returns when the fetch has ended; ``failure`` then says whether it failed.
    public func refresh() async { if !contents.isEnded { await loading.refresh() } }

    private func load() { if !contents.isEnded { loading.begin() } }

    private func loadIfShown() { if isShown { load() } }

    private func fetch() async throws {
        let asked = loading.epoch
        await keeper.restore()
        guard loading.epoch == asked else { return }
        contents.change { $0.beginLoad() }
        var elements: [Element] = []
        var cursor: String?
        do {
            repeat {
                let page = try await server.elements(in: roomID, limit: Self.pageSize, cursor: cursor)
                guard loading.epoch == asked else { return }
                elements += page.items
                cursor = page.next
            } while cursor != nil
            contents.change { $0.finishLoad(with: elements) }
        } catch {
            if loading.epoch == asked { contents.change { $0.abandonLoad() } }
            throw error
        }
    }

    // MARK: Screens

    /// Notes that a screen shows the board.
    func noteOpened() {
        screens += 1
        loading.noteOpened()
        // A running fetch that settles a conflict may have begun before the room was joined.
        if screens == 1 || !isLoading { load() }
    }

    /// Notes that a screen closed. When no screen is left, events may stop, so the next opening fetches everything.
    func noteClosed() {
        screens = max(0, screens - 1)
        if !isShown { loading.noteClosed() }
    }

    var isShown: Bool { screens > 0 }
    /// True if this object can be dropped: no screen shows it, and it has neither unsent changes nor conflicts. A
    /// board that could not read its stored changes is still needed, to send them after the next connect.
    var isSpare: Bool { !isShown && isRestored && unsentCount == 0 && conflicts.isEmpty }
    /// True once the changes of an earlier process have been read.
    var isRestored: Bool { keeper.isRestored }

    // MARK: Ends

    /// Writes what waits to be written, and returns when that is done.
    func keepAll() async {
        await keeper.restore()
        sender.releaseMoves()
        await keeper.keepAll()
    }

    /// Ends the board, because the person lost the room or signed out, or the client is gone. A write in progress ends
    /// before this returns; nothing is written later.
    ///
    /// A move that waits for the next position is dropped. After a loss or a sign-out, everything is deleted anyway. If
    /// the client is gone, the person's next client may already write the same files.
    ///
    /// - Parameter reason: the board's ``failure`` from now on; nil to keep the one that it has.
    func end(because reason: ClientFailure? = nil) async {
        contents.end()
        loading.end()
        sender.end()
        if let reason { loading.failure = reason }
        await keeper.end()
    }
}

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
        if contents.isEnded { return nil }
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
        sender.holdMoves()
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
        if contents.isEnded { throw failure ?? ClientFailure.stopped }
        await keeper.restore()
        let (earlier, known) = (Set(contents.state.operations.map(\.id)), contents.state.knownIDs)
        // A change that is sent meanwhile could reach the server before the clearing, or bring an element back after it.
        try await sender.holding {
            _ = try await server.clear(roomID)
            act { state in
                state.discard(earlier)
                state.dropConflicts(of: known)
            }
            // This fetch removes the cleared elements even if no event arrives, and keeps those that others created
            // since.
            load()
        }
    }

    /// Sends the refused changes of an item again.
    public func retry(_ id: BoardItem.ID) {
        act { $0.retry($0.elementID(of: id)) }
        sender.endPause()
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

    private func act(_ body: (inout BoardState) -> Void) {
        guard !contents.isEnded else { return }
        contents.change(body)
        sender.send()
    }
}
