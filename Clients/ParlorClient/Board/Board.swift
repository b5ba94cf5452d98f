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
    public private(set) var items: [BoardItem] = []
    /// The person's content that the server did not store, because others had changed or deleted the element first. Each
    /// conflict stays on disk until ``resolve(_:overwriting:)``, or until the person deletes the element.
    public private(set) var conflicts: [BoardConflict] = []
    /// True if everything shown has been fetched, and later changes arrive as events because the room is joined.
    public var isVerified: Bool { isFetched && !isBehind && isRoomJoined() }
    /// True while elements are being fetched.
    public private(set) var isLoading = false
    /// Why the last fetch failed; nil if it succeeded. The items stay, unless the room is gone (`room_not_found`) or
    /// the person has signed out.
    public private(set) var failure: ClientFailure?
    /// The number of changes that the server has not confirmed, including refused ones.
    public private(set) var unsentCount = 0
    /// Why changes cannot be read or stored on disk; nil if they can. While this is set, changes that are not on disk
    /// are lost when the app ends.
    public private(set) var keepFailure: String?
    /// A file with earlier changes that this version of the library cannot read; nil if there is none.
    public private(set) var setAside: URL?

    private var isFetched = false
    private var isBehind: Bool
    /// The number of calls of ``load()``. A fetch that began before the last call may lack changes that this call is to
    /// fetch.
    @ObservationIgnored private var wantedFetches = 0
    /// The number of calls of ``clear()`` that are not answered yet. No change is sent meanwhile.
    @ObservationIgnored var clearings = 0
    /// The number of times that the room was cleared.
    @ObservationIgnored private(set) var clears = 0
    /// Logs refused changes.
    @ObservationIgnored var log = ClientLog.none
    /// Returns true if the conversation, which joins the room for the board, has joined it.
    @ObservationIgnored var isRoomJoined: @MainActor () -> Bool = { true }
    /// Called if the server refuses a change because it does not know the room.
    @ObservationIgnored var onUnknownRoom: @MainActor () -> Void = {}
    /// Called when no change is left to send, or none can be sent.
    @ObservationIgnored var onSent: @MainActor () -> Void = {}
    @ObservationIgnored var state: BoardState
    @ObservationIgnored let server: any ElementServer
    @ObservationIgnored private let files: BoardFiles
    @ObservationIgnored let clock: any ClientClock
    @ObservationIgnored let makeID: @Sendable () -> String
    @ObservationIgnored let random: @Sendable () -> Double
    /// True once the changes of an earlier process have been read. Until then no change is sent, because the stored
    /// ones come first. None is written, because a write would overwrite the stored ones.
    @ObservationIgnored private(set) var isRestored = false
    @ObservationIgnored private var restoring: Task<Void, Never>?
    @ObservationIgnored private var loading: Task<Void, Never>?
    @ObservationIgnored private var retrying: Task<Void, Never>?
    /// The pauses between attempts to fetch.
    @ObservationIgnored private var fetchBackoff = Backoff(from: .seconds(5))
    @ObservationIgnored var sending: Task<Void, Never>?
    /// The pause before waiting moves are sent.
    @ObservationIgnored var moving: Task<Void, Never>?
    @ObservationIgnored var pause: Task<Void, any Error>?
    /// The pause that the server asked for after the last attempt.
    @ObservationIgnored var retryAfter: Duration?
    @ObservationIgnored private var writing: Task<Void, Never>?
    @ObservationIgnored private var areChangesWritten = true
    @ObservationIgnored private var keeping: Task<Void, Never>?
    /// The pause before changes are shown together.
    @ObservationIgnored private var showing: Task<Void, Never>?
    @ObservationIgnored private(set) var isEnded = false
    /// The number of screens that show the board. While it is 0, only a conflict, ``refresh()`` and ``clear()`` fetch.
    @ObservationIgnored private var screens = 0

    /// The pause before missed events that are replayed are shown, unless the replay ends earlier.
    private static let catchUpPause: Duration = .milliseconds(100)
    /// The server's maximum size of a page of elements.
    private static let pageSize = 500
    /// The delay before changed elements are written to the cache: changes within it are written together.
    private static let cachePause: Duration = .milliseconds(500)

    init(
        roomID: String, ownID: String, isBehind: Bool, server: any ElementServer, files: BoardFiles,
        clock: any ClientClock, makeID: @escaping @Sendable () -> String = { UUID().uuidString },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.roomID = roomID
        self.isBehind = isBehind
        self.server = server
        self.files = files
        self.clock = clock
        self.makeID = makeID
        self.random = random
        state = BoardState(roomID: roomID, ownID: ownID)
        beginRestoring()
    }

    public subscript(id: BoardItem.ID) -> BoardItem? { items.first { $0.id == id } }

    // MARK: Updates

    /// Applies an update of the socket. Events of other rooms are ignored.
    package func apply(_ update: SocketUpdate) {
        switch update {
        case .connecting: break
        case .connected:
            pause?.cancel()
            if !isFetched, isShown { load() }
            // A running send loop may have failed to read the stored changes. It ends without another attempt, so they
            // are read here.
            beginRestoring()
            send()
        case .refusedRoom, .joined: break
        case .recovered(let isWhole):
            isBehind = false
            show()
            if !isWhole || !isFetched, isShown { load() }
        case .disconnected: isBehind = true
        case .event(let event): apply(event)
        }
    }

    private func apply(_ event: RoomEvent) {
        switch event {
        case .elementCreated(let element) where element.roomID == roomID,
            .elementUpdated(let element) where element.roomID == roomID:
            changeSoon { $0.put(element) }
        case .elementDeleted(roomID, let id, _): changeSoon { $0.remove(id) }
        case .roomCleared(roomID, _):
            clears += 1
            changeSoon { $0.removeAll() }
            // Pages that are being fetched may be older than the clearing.
            if isShown || loading != nil { load() }
        default: break
        }
    }

    /// Fetches all elements. Returns when the fetch has ended; ``failure`` then says whether it failed.
    public func refresh() async {
        load()
        await loading?.value
    }

    /// Starts a fetch, or lets another one follow the fetch that is running.
    func load() {
        guard !isEnded else { return }
        retrying?.cancel()
        wantedFetches += 1
        guard loading == nil else { return }
        isLoading = true
        loading = Task {
            await restore()
            var wanted: Int
            repeat {
                wanted = wantedFetches
                await fetch()
            } while wanted != wantedFetches && !isEnded
            isLoading = false
            loading = nil
            loadLater()
        }
    }

    /// Fetches again after a pause, if a screen shows the board and the last fetch failed.
    private func loadLater() {
        guard let failure else { return fetchBackoff.reset() }
        // If the loss of the room is confirmed, the board ends. Otherwise the answer was wrong.
        guard isShown, !isEnded, failure.isRetryable || failure.isRoomGone else { return }
        let wait = fetchBackoff.next(random: random(), atLeast: failure.retryAfter)
        retrying = Task { [weak self, clock] in
            // A fetch for another reason, and the closing of the last screen, cancel this.
            do { try await clock.sleep(for: wait) } catch { return }
            guard !Task.isCancelled else { return }
            self?.load()
        }
    }

    /// Notes that a screen shows the board.
    func noteOpened() {
        screens += 1
        // A running fetch that settles a conflict may have begun before the room was joined.
        if screens == 1 || !isLoading { load() }
    }

    /// Notes that a screen closed. When no screen is left, events may stop, so the next opening fetches everything.
    func noteClosed() {
        screens = max(0, screens - 1)
        guard !isShown else { return }
        retrying?.cancel()
        isFetched = false
    }

    var isShown: Bool { screens > 0 }
    /// True if this object can be dropped: no screen shows it, and it has neither unsent changes nor conflicts. A
    /// board that could not read its stored changes is still needed, to send them after the next connect.
    var isSpare: Bool { !isShown && isRestored && unsentCount == 0 && conflicts.isEmpty }

    private func fetch() async {
        change { $0.beginLoad() }
        var elements: [Element] = []
        var cursor: String?
        do {
            repeat {
                let page = try await server.elements(in: roomID, limit: Self.pageSize, cursor: cursor)
                elements += page.items
                cursor = page.next
            } while cursor != nil
            guard !isEnded else { return }
            change { $0.finishLoad(with: elements) }
            (isFetched, failure) = (isShown, nil)
        } catch {
            guard !isEnded else { return }
            change { $0.abandonLoad() }
            failure = ClientFailure(error)
        }
    }

    // MARK: Keeping

    /// Reads the data of an earlier process, once. Returns when that has succeeded or failed. After a failure, for
    /// example because the device is locked, the next change, fetch or connect tries again.
    func restore() async {
        beginRestoring()
        await restoring?.value
    }

    private func beginRestoring() {
        guard !isRestored, restoring == nil, !isEnded else { return }
        restoring = Task {
            await readKept()
            restoring = nil
        }
    }

    private func readKept() async {
        do {
            let kept = try await files.read(roomID)
            guard !isEnded else { return }
            // Fetched elements are newer than the cache.
            change { $0.restore(isFetched ? [] : kept.elements, kept.operations, kept.conflicts) }
            isRestored = true
            if let file = kept.setAside { setAside = file }
            noteKeeping(nil)
            // Some changes were made before the file could be read.
            if state.operations != kept.operations || state.conflicts != kept.conflicts { keepChanges() }
            if !state.operations.isEmpty { send() }
        } catch {
            noteKeeping(error)
        }
    }

    private func noteKeeping(_ error: (any Error)?) {
        let failure = error?.localizedDescription
        if keepFailure != failure { keepFailure = failure }
    }

    func act(_ body: (inout BoardState) -> Void) {
        guard !isEnded else { return }
        change(body)
        send()
    }

    /// Changes the state, and shows and stores the result. All changes go through this or `changeSoon`, except for
    /// `takeNext()` in `send()`, which marks the change that is being sent.
    func change(_ body: (inout BoardState) -> Void) {
        update(body)
        show()
    }

    /// Changes the state by an event. While missed events are replayed, their changes are shown together, because each
    /// showing looks at all elements.
    private func changeSoon(_ body: (inout BoardState) -> Void) {
        guard isBehind else { return change(body) }
        update(body)
        guard showing == nil else { return }
        showing = Task { [weak self, clock] in
            // Cancelled if something else shows the changes first.
            do { try await clock.sleep(for: Self.catchUpPause) } catch { return }
            self?.show()
        }
    }

    private func update(_ body: (inout BoardState) -> Void) {
        guard !isEnded else { return }
        let before = (operations: state.operations, conflicts: state.conflicts, version: state.elementsVersion)
        body(&state)
        // A write before the file was read would overwrite it.
        if isRestored, isChanged(since: before.operations) || state.conflicts != before.conflicts { keepChanges() }
        if restoring == nil, state.elementsVersion != before.version { keepElementsSoon() }
    }

    /// Shows all changes made so far.
    private func show() {
        showing?.cancel()
        showing = nil
        guard !isEnded else { return }
        let shown = state.items
        if items != shown { items = shown }
        if conflicts != state.conflicts { conflicts = state.conflicts }
        if unsentCount != state.operations.count { unsentCount = state.operations.count }
    }

    /// True if a change has to be written. A move that waits for the next position is not written yet.
    private func isChanged(since before: [BoardOperation]) -> Bool {
        let held = state.heldMoves
        guard !held.isEmpty else { return state.operations != before }
        return state.operations.filter { !held.contains($0.id) } != before.filter { !held.contains($0.id) }
    }

    /// Writes the changes, once those of an earlier process have been read.
    func keepChangesIfRestored() { if isRestored { keepChanges() } }

    /// Writes the changes. If more are made during a write, another write follows.
    private func keepChanges() {
        areChangesWritten = false
        guard writing == nil else { return }
        writing = Task {
            while !areChangesWritten {
                areChangesWritten = true
                do {
                    try await files.keep(state.operations, state.conflicts, of: roomID)
                    noteKeeping(nil)
                } catch {
                    noteKeeping(error)
                }
            }
            writing = nil
        }
    }

    private func keepElementsSoon() {
        guard keeping == nil else { return }
        keeping = Task { [weak self, clock] in
            // A cancelled sleep means that the elements are written now.
            try? await clock.sleep(for: Self.cachePause)
            guard let self else { return }
            keeping = nil
            guard !isEnded else { return }
            await files.keep(Array(state.elements.values), of: roomID)
        }
    }

    /// Writes what waits to be written, and returns when that is done.
    func keepAll() async {
        await restore()
        releaseMoves()
        // The disk may have been full at the last attempt, and have space now.
        if keepFailure != nil, isRestored, !isEnded { keepChanges() }
        await writing?.value
        guard keeping != nil else { return }
        keeping?.cancel()
        await keeping?.value
    }

    /// Ends the board, because the person lost the room or signed out, or the client is gone. A write in progress ends
    /// before this returns; nothing is written later.
    ///
    /// A move that waits for the next position is dropped. After a loss or a sign-out, everything is deleted anyway. If
    /// the client is gone, the person's next client may already write the same files.
    ///
    /// - Parameter reason: the board's ``failure`` from now on; nil to keep the one that it has.
    func end(because reason: ClientFailure? = nil) async {
        (isEnded, isFetched) = (true, false)
        if let reason { failure = reason }
        for task in [retrying, keeping, moving, showing] { task?.cancel() }
        pause?.cancel()
        (items, conflicts, unsentCount) = ([], [], 0)
        await writing?.value
        await keeping?.value
    }
}
