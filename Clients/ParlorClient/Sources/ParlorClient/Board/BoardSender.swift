/// Sends a board's changes one at a time, in order.
@MainActor
final class BoardSender {
    /// Called if the server refuses a change because it does not know the room.
    var onUnknownRoom: @MainActor () -> Void = {}
    /// Called when no change is left to send, or none can be sent.
    var onSent: @MainActor () -> Void = {}
    /// Called after an answer that may be older than a clearing of the room.
    var onOutdated: @MainActor () -> Void = {}
    /// Logs refused changes.
    var log = ClientLog.none
    /// The number of calls that hold the changes back.
    private var holds = 0
    /// The number of times that the room was cleared.
    private var clears = 0
    private var sending: Task<Void, Never>?
    private var pause: Task<Void, any Error>?
    /// The pause that the server asked for after the last attempt.
    private var retryAfter: Duration?
    /// The pause before waiting moves are sent.
    private let moving: DelayedWork
    private let roomID: String
    private let contents: BoardContents
    private let keeper: BoardKeeper
    private let loading: Loading
    private let server: any ElementServer
    private let clock: any ClientClock
    private let random: @Sendable () -> Double

    /// The time for which a move waits for the next position. A drag gives one for each frame: without the pause, each
    /// would be a request and two writes to the disk.
    static let movePause: Duration = .milliseconds(100)

    init(
        roomID: String, contents: BoardContents, keeper: BoardKeeper, loading: Loading, server: any ElementServer,
        clock: any ClientClock, random: @escaping @Sendable () -> Double
    ) {
        self.roomID = roomID
        self.contents = contents
        self.keeper = keeper
        self.loading = loading
        self.server = server
        self.clock = clock
        self.random = random
        moving = DelayedWork(clock)
    }

    /// Starts to send, unless a task already does so.
    func send() {
        guard sending == nil, !contents.isEnded else { return }
        sending = Task {
            await keeper.restore()
            var backoff = Backoff()
            while !contents.isEnded, keeper.isRestored, holds == 0, let operation = contents.takeNext() {
                retryAfter = nil
                if await perform(operation) {
                    backoff.reset()
                } else if !contents.isEnded {
                    let wait = backoff.next(random: random(), atLeast: retryAfter)
                    let task = Task { [clock] in try await clock.sleep(for: wait) }
                    pause = task
                    // A new connection ends the pause.
                    _ = await task.result
                    pause = nil
                }
            }
            sending = nil
            onSent()
        }
    }

    /// Ends the pause before the next attempt, so that waiting changes are sent now.
    func endPause() { pause?.cancel() }

    func end() {
        pause?.cancel()
        moving.cancel()
    }

    /// Runs a body during which no change is sent.
    func holding(_ body: () async throws -> Void) async rethrows {
        holds += 1
        defer {
            holds -= 1
            send()
        }
        try await body()
    }

    /// Notes that the room was cleared.
    func noteCleared() { clears += 1 }

    /// Waits until every change is stored or refused, or until the task is cancelled.
    func settle() async {
        await keeper.restore()
        // A move may have been made since the earlier ones were released.
        releaseMoves()
        while !Task.isCancelled, let sending {
            _ = try? await Task<Void, any Error> { await sending.value }.valueUnlessCancelled
        }
    }

    /// Lets moves wait for the next position.
    func holdMoves() {
        guard !contents.state.heldMoves.isEmpty else { return }
        moving.start(after: Self.movePause) { [weak self] in self?.releaseMoves() }
    }

    /// Sends and writes the moves that wait for the next position.
    func releaseMoves() {
        moving.cancel()
        guard !contents.isEnded, !contents.state.heldMoves.isEmpty else { return }
        contents.change { $0.releaseMoves() }
        send()
        keeper.keepChangesIfRestored()
    }

    /// Sends one change and applies the answer. Returns false if a pause has to come before the next attempt.
    private func perform(_ operation: BoardOperation) async -> Bool {
        do {
            let clears = clears
            let element = try await server.perform(operation, in: roomID)
            contents.change { $0.finish(operation.id, with: element) }
            if clears != self.clears { onOutdated() }
            return true
        } catch ClientFailure.refused(let refusal) where refusal.code == "version_conflict" && operation.isEdit {
            return await settleConflict(of: operation)
        } catch ClientFailure.refused(let refusal) where refusal.code == "element_not_found" {
            contents.change { $0.finish(operation.id, with: nil) }
            return true
        } catch ClientFailure.refused(let refusal) where !refusal.isRetryable && refusal.code != "unauthenticated" {
            log.error(.boards, "refused", ["room": roomID], for: ClientFailure.refused(refusal))
            contents.change { $0.fail(operation.id, SendFailure(code: refusal.code, message: refusal.message)) }
            if refusal.code == "room_not_found" { onUnknownRoom() }
            return true
        } catch {
            contents.change { $0.putBack() }
            retryAfter = ClientFailure(error).retryAfter
            return false
        }
    }

    /// Handles the refusal of an edit whose base is outdated. Returns false if a pause has to come before the next
    /// attempt. A rebased edit is sent again at once.
    private func settleConflict(of operation: BoardOperation) async -> Bool {
        guard case .edit(let content, _) = operation.change, !contents.isEnded else { return false }
        await loading.refresh()
        guard let current = contents.state.elements[operation.elementID], loading.failure == nil else {
            contents.change { $0.putBack() }
            return loading.failure == nil
        }
        if current.content == content, current.isContentWhole {
            // An earlier attempt succeeded, but its answer was lost.
            contents.change { $0.finish(operation.id, with: current) }
        } else if contents.state.isOwnMove(current, since: operation) {
            contents.change { $0.rebase(operation.id, on: current.version) }
        } else {
            contents.change { $0.conflict(operation.id, with: current) }
        }
        return true
    }
}
