import Foundation
import Observation

/// One room's elements, live.
///
/// A change is shown at once, stored on disk, and sent in order, now or when the server can be reached, also
/// after a restart. A change that is sent twice takes effect once. Others' changes arrive as events.
/// ``RoomsClient/openBoard(_:)`` creates boards.
@MainActor
@Observable
public final class Board {
    public let roomID: String
    /// The items, oldest first.
    public private(set) var items: [BoardItem] = []
    /// Own content that was not stored because others changed the element first. It stays on disk until
    /// ``resolve(_:overwriting:)``, or until the element is deleted.
    public private(set) var conflicts: [BoardConflict] = []
    /// True if everything shown has been fetched, and later changes arrive as events.
    public var isVerified: Bool { isFetched && !isAway }
    public private(set) var isLoading = false
    /// The reason why the last fetch failed; the items stay.
    public private(set) var failure: ClientFailure?
    /// The number of changes that the server does not have.
    public private(set) var unsentCount = 0
    /// The reason why changes are not on disk. Unsent ones are then lost when the app ends.
    public private(set) var keepFailure: String?
    /// The location of earlier changes that this version cannot read; nil if there are none.
    public private(set) var setAside: URL?

    private var isFetched = false
    private var isAway: Bool
    /// Rises with each call of ``load()``: an earlier fetch may lack missed events.
    @ObservationIgnored private var wantedFetches = 0
    /// The number of times that the room was cleared.
    @ObservationIgnored private var clears = 0
    @ObservationIgnored private(set) var state: BoardState
    @ObservationIgnored let server: any ElementServer
    @ObservationIgnored private let files: BoardFiles
    @ObservationIgnored let clock: any ClientClock
    @ObservationIgnored let makeID: @Sendable () -> String
    @ObservationIgnored private let random: @Sendable () -> Double
    /// True once the changes of an earlier process have been read. Until then changes are not sent, to keep
    /// the order, and not written, to overwrite nothing.
    @ObservationIgnored private var isRestored = false
    @ObservationIgnored private var restoring: Task<Void, Never>?
    @ObservationIgnored private var loading: Task<Void, Never>?
    @ObservationIgnored private var retrying: Task<Void, Never>?
    /// The pauses between attempts to fetch.
    @ObservationIgnored private var fetchBackoff = Backoff(from: .seconds(5))
    @ObservationIgnored private var sending: Task<Void, Never>?
    @ObservationIgnored private var pause: Task<Void, any Error>?
    /// The pause that the server asked for after the last attempt.
    @ObservationIgnored private var retryAfter: Duration?
    @ObservationIgnored private var writing: Task<Void, Never>?
    @ObservationIgnored private var areChangesWritten = true
    @ObservationIgnored private var keeping: Task<Void, Never>?
    @ObservationIgnored private var isEnded = false
    /// The number of screens that show the board. Without one it fetches only to send a change.
    @ObservationIgnored private var screens = 0

    /// The server's maximum for a page.
    private static let pageSize = 200
    /// Changes of elements within this time are written together.
    private static let cachePause: Duration = .milliseconds(500)

    init(
        roomID: String, ownID: String, isAway: Bool, server: any ElementServer, files: BoardFiles,
        clock: any ClientClock, makeID: @escaping @Sendable () -> String = { UUID().uuidString },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.roomID = roomID
        self.isAway = isAway
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
    public func apply(_ update: SocketUpdate) {
        switch update {
        case .connecting: break
        case .connected:
            pause?.cancel()
            if !isFetched, isShown { load() }
            // A running send loop may be about to end because the changes could not be read. It does not read
            // them again.
            beginRestoring()
            send()
        case .recovered(let isWhole):
            isAway = false
            if !isWhole || !isFetched, isShown { load() }
        case .disconnected: isAway = true
        case .event(let event): apply(event)
        }
    }

    private func apply(_ event: RoomEvent) {
        switch event {
        case .elementCreated(let element) where element.roomId == roomID,
            .elementUpdated(let element) where element.roomId == roomID:
            change { $0.put(element) }
        case .elementDeleted(roomID, let id, _): change { $0.remove(id) }
        case .roomCleared(roomID, _):
            clears += 1
            change { $0.removeAll() }
            // Pages under way may be from before the clearing.
            if isShown || loading != nil { load() }
        default: break
        }
    }

    /// Fetches all elements, and returns when they are there or ``failure`` says why not.
    public func refresh() async {
        load()
        await loading?.value
    }

    /// Starts a fetch. If one is running, another follows it.
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
        guard isShown, !isEnded, failure.isRetryable else { return }
        let wait = fetchBackoff.next(random: random(), atLeast: failure.retryAfter)
        retrying = Task { [weak self, clock] in
            // An earlier fetch, or the last screen's closing, cancels it.
            do { try await clock.sleep(for: wait) } catch { return }
            guard !Task.isCancelled else { return }
            self?.load()
        }
    }

    /// Notes that a screen shows the board.
    func noteOpened() {
        screens += 1
        // A running fetch for a change may have begun before the room was joined.
        if screens == 1 || !isLoading { load() }
    }

    /// Notes that a screen closed. After the last one, events may no longer arrive, so the next opening
    /// fetches everything.
    func noteClosed() {
        screens = max(0, screens - 1)
        guard !isShown else { return }
        retrying?.cancel()
        isFetched = false
    }

    var isShown: Bool { screens > 0 }
    /// True if the disk and the server have everything, so the board can be created again. A board that could
    /// not read its changes yet is needed: it sends them with the next connection.
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
            change { $0.finishLoad(with: elements) }
            (isFetched, failure) = (isShown, nil)
        } catch {
            change { $0.abandonLoad() }
            failure = ClientFailure(error)
        }
    }

    // MARK: Sending

    private func send() {
        guard sending == nil, !isEnded else { return }
        sending = Task {
            await restore()
            var backoff = Backoff()
            while !isEnded, isRestored, let operation = state.takeNext() {
                retryAfter = nil
                if await perform(operation) {
                    backoff.reset()
                } else if !isEnded {
                    let wait = backoff.next(random: random(), atLeast: retryAfter)
                    let task = Task { [clock] in try await clock.sleep(for: wait) }
                    pause = task
                    // A new connection ends the pause.
                    _ = await task.result
                    pause = nil
                }
            }
            sending = nil
        }
    }

    /// Ends the pause: the waiting changes are sent now.
    func endPause() { pause?.cancel() }

    /// - Returns: false if it has to be retried.
    private func perform(_ operation: BoardOperation) async -> Bool {
        do {
            let clears = clears
            let element = try await server.perform(operation, in: roomID)
            change { $0.finish(operation.id, with: element) }
            // The answer may be from before the clearing.
            if clears != self.clears, isShown { load() }
            return true
        } catch ClientFailure.refused(let refusal) where refusal.code == "version_conflict" {
            return await settleConflict(of: operation)
        } catch ClientFailure.refused(let refusal) where refusal.code == "element_not_found" {
            // Others, or an earlier attempt, have deleted it.
            change { state in
                state.finish(operation.id, with: nil)
                state.remove(operation.elementID)
            }
            return true
        } catch ClientFailure.refused(let refusal) where !refusal.isRetryable && refusal.code != "unauthenticated" {
            change { $0.fail(operation.id, SendFailure(code: refusal.code, message: refusal.message)) }
            return true
        } catch {
            change { $0.putBack() }
            retryAfter = ClientFailure(error).retryAfter
            return false
        }
    }

    private func settleConflict(of operation: BoardOperation) async -> Bool {
        guard case .edit(let content, _) = operation.change else { return true }
        // It waits for a running fetch: two at once would mix the elements that events name meanwhile.
        await refresh()
        guard let current = state.elements[operation.elementID], failure == nil else {
            change { $0.putBack() }
            return failure == nil
        }
        if current.content == content {
            // An earlier attempt arrived, but its answer was lost.
            change { $0.finish(operation.id, with: current) }
        } else if isOwnMove(current, since: operation) {
            change { $0.rebase(operation.id, on: current.version) }
        } else {
            change { $0.conflict(operation.id, with: current) }
        }
        return true
    }

    /// True if only own changes raised the version since. A move keeps the content, so the edit still
    /// applies.
    private func isOwnMove(_ current: Element, since operation: BoardOperation) -> Bool {
        guard case .edit(_, let version?) = operation.change else { return false }
        return state.ownVersions[current.id]?.isSuperset(of: (version + 1)...max(version + 1, current.version)) ?? false
    }

    /// Returns when every change is stored or refused, or when the task is cancelled.
    func settle() async {
        await restore()
        while !Task.isCancelled, let sending {
            _ = try? await Task<Void, any Error> { await sending.value }.valueUnlessCancelled
        }
    }

    // MARK: Keeping

    /// Returns when an earlier process's data has been read, or the attempt has failed, as before the device
    /// is unlocked. The next change, fetch or connection tries again.
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

    /// Changes the state: the only place that does so.
    private func change(_ body: (inout BoardState) -> Void) {
        guard !isEnded else { return }
        let before = (operations: state.operations, conflicts: state.conflicts, elements: state.elements)
        body(&state)
        let shown = state.items
        if items != shown { items = shown }
        if conflicts != state.conflicts { conflicts = state.conflicts }
        if unsentCount != state.operations.count { unsentCount = state.operations.count }
        // Before the file is read, a write would overwrite it.
        if isRestored, state.operations != before.operations || state.conflicts != before.conflicts { keepChanges() }
        if restoring == nil, state.elements != before.elements { keepElementsSoon() }
    }

    /// Writes the changes. Those made during a write lead to one more.
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
            // If it is cancelled, it writes at once.
            try? await clock.sleep(for: Self.cachePause)
            guard let self else { return }
            keeping = nil
            guard !isEnded else { return }
            await files.keep(Array(state.elements.values), of: roomID)
        }
    }

    /// Returns when all pending writes are done.
    func keepAll() async {
        await restore()
        // The disk may have space again.
        if keepFailure != nil, isRestored, !isEnded { keepChanges() }
        await writing?.value
        guard keeping != nil else { return }
        keeping?.cancel()
        await keeping?.value
    }

    /// Ends the board: the person has left the room or signed out, or the client is gone. Pending changes are
    /// written before this returns, and nothing after.
    func end() async {
        isEnded = true
        for task in [retrying, keeping] { task?.cancel() }
        pause?.cancel()
        (items, conflicts, unsentCount) = ([], [], 0)
        await writing?.value
        await keeping?.value
    }
}
