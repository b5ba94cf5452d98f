import Foundation

/// Sends read receipts to the server, in few requests.
///
/// Ids are collected until none has come for ``Settings/pause``, at most for ``Settings/longestWait``.
/// Receipts that could not be sent are written to disk. They are sent with the next connection, also of a later run,
/// with the next message read, or after a pause. If the server refuses them with a `Retry-After`, as it may over HTTP,
/// they wait until then, and only ``flush()`` sends them earlier.
package actor ReadReceipts {
    /// The settings of read receipts.
    package struct Settings: Sendable {
        /// The time without a newly read message after which receipts are sent.
        package var pause: Duration = .milliseconds(500)
        /// The maximum time from the first read message to the request.
        package var longestWait: Duration = .seconds(2)
        /// The bound of the first pause before a retry. Each pause is random, up to the bound, and each retry doubles
        /// the bound.
        package var retryPause: Duration = .seconds(10)
        /// The maximum of that bound.
        package var longestPause: Duration = .seconds(60)

        package init() {}
    }

    /// What has become of receipts, by the ids of their messages.
    enum Change: Sendable {
        /// They are on their way to the server.
        case collected([String])
        /// The server has them.
        case sent([String])
        /// The server refuses them for good.
        case refused([String])
    }

    /// The server's maximum of ids in one request.
    private static let callLimit = 500
    /// Refusals after which receipts are dropped: the person is not in the room, or the server will never
    /// accept these ids.
    private static let finalCodes: Set<String> = [
        "room_not_found", "message_not_found", "route_not_found", "forbidden", "invalid_field", "malformed_request",
    ]
    /// The number of remembered ids. It covers everything on a screen, so that no receipt is sent twice.
    private static let rememberedIDs = 2_000

    /// The receipts of one room.
    private struct PendingReceipts {
        /// The ids in the order read, each once.
        private(set) var ids: [String] = []
        private var known: Set<String> = []
        var backoff: Backoff
        /// The time at which the first message since the last request was read.
        var firstAt: Date?
        /// The task that waits, and then sends them.
        var wait: Task<Void, Never>?
        /// True if `wait` is a pause that the server asked for.
        var isPaused = false
        var flushing: Task<Void, Never>?

        init(retryingWith backoff: Backoff) { self.backoff = backoff }

        mutating func add(_ id: String) { if known.insert(id).inserted { ids.append(id) } }

        mutating func removeFirst(_ count: Int) {
            known.subtract(ids.prefix(count))
            ids.removeFirst(min(count, ids.count))
        }
    }

    private let server: any MessageServer
    private let clock: any ClientClock
    private let settings: Settings
    private let random: @Sendable () -> Double
    /// Each room's unsent ids; nil to keep them in memory only.
    private let files: RoomFiles?
    /// Receives each change, with the room's id, in order. Receipts of an earlier run are not among those collected.
    private let onChange: (@Sendable (Change, String) -> Void)?
    private var rooms: [String: PendingReceipts] = [:]
    /// True once the files of an earlier run were read.
    private var isRestored = false
    /// The rooms that have a file.
    private var kept: Set<String> = []
    private var isRemoved = false
    /// Ids that were collected or sent before.
    private var seen = RecentValues<Bool>(limit: rememberedIDs)

    /// - Parameter random: returns a number from 0 up to 1.
    package init(
        server: any MessageServer, clock: any ClientClock, settings: Settings = Settings(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.init(server: server, clock: clock, settings: settings, files: nil, random: random)
    }

    init(
        server: any MessageServer, clock: any ClientClock, settings: Settings, files: RoomFiles?,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        onChange: (@Sendable (Change, String) -> Void)? = nil
    ) {
        self.random = random
        self.onChange = onChange
        self.server = server
        self.clock = clock
        self.settings = settings
        self.files = files
    }

    /// Adds messages of others that the person has read. Those that were added before are ignored.
    package func add(_ messageIDs: [String], in roomID: String) {
        let new = collect(messageIDs, in: roomID)
        guard !new.isEmpty else { return }
        onChange?(.collected(new), roomID)
        let firstAt = rooms[roomID]?.firstAt ?? clock.now
        rooms[roomID]?.firstAt = firstAt
        if rooms[roomID]?.isPaused == true { return }
        let left = settings.longestWait - .seconds(clock.now.timeIntervalSince(firstAt))
        wait(for: max(.zero, min(settings.pause, left)), in: roomID)
    }

    /// - Returns: those that are new.
    private func collect(_ messageIDs: [String], in roomID: String) -> [String] {
        let new = messageIDs.filter { seen[$0] == nil }
        guard !new.isEmpty, !isRemoved else { return [] }
        let backoff = Backoff(from: settings.retryPause, upTo: settings.longestPause)
        var pending = rooms[roomID] ?? PendingReceipts(retryingWith: backoff)
        for id in new {
            seen.set(true, for: id)
            pending.add(id)
        }
        rooms[roomID] = pending
        return new
    }

    /// Sends all receipts now, and returns when each request has succeeded or failed. Call it when a room is left, or
    /// when the app goes to the background. Rooms do not wait for each other.
    package func flush() async {
        restore()
        await flush(rooms.keys.sorted())
    }

    /// The number of messages whose receipts are not sent, including those of an earlier run; nil if these cannot be read now.
    func unsentCount() -> Int? {
        restore()
        return files == nil || isRestored ? rooms.values.reduce(0) { $0 + $1.ids.count } : nil
    }

    /// Notes that the server can be reached, and sends the receipts. Those whose `Retry-After` has not passed go on
    /// waiting.
    package func noteConnection() async {
        restore()
        await flush(rooms.filter { !$0.value.isPaused }.keys.sorted())
    }

    private func flush(_ roomIDs: [String]) async {
        let flushes = roomIDs.map { roomID in Task { await flush(roomID) } }
        for flushing in flushes { await flushing.value }
    }

    /// Discards all receipts after signing out. Nothing is sent any more.
    package func removeAll() {
        isRemoved = true
        for pending in rooms.values { pending.wait?.cancel() }
        rooms.removeAll()
    }

    // MARK: On disk

    /// Reads the receipts of an earlier run. If they cannot be read now, a later call tries again.
    private func restore() {
        guard !isRestored, let files, let roomIDs = try? files.keys() else { return }
        var isComplete = true
        for roomID in roomIDs {
            do {
                guard let data = try files.read(roomID) else { continue }
                kept.insert(roomID)
                // A damaged file costs receipts: the person reads those messages again.
                _ = collect((try? JSONDecoder().decode([String].self, from: data)) ?? [], in: roomID)
            } catch {
                isComplete = false
            }
        }
        isRestored = isComplete
    }

    /// Writes all receipts, because the app may end.
    func keepAll() { for roomID in rooms.keys { keep(roomID) } }

    /// Writes the receipts that a room has left, or removes its file. An error is ignored: the receipts stay in memory.
    private func keep(_ roomID: String) {
        restore()
        // A write before the file was read would overwrite it.
        guard let files, isRestored, !isRemoved else { return }
        if let ids = rooms[roomID]?.ids, !ids.isEmpty {
            kept.insert(roomID)
            if let data = try? JSONEncoder().encode(ids) { try? files.write(data, of: roomID, isForced: false) }
        } else if kept.remove(roomID) != nil {
            try? files.remove(roomID)
        }
    }

    // MARK: Sending

    private func wait(for duration: Duration, in roomID: String, isPause: Bool = false) {
        rooms[roomID]?.wait?.cancel()
        rooms[roomID]?.isPaused = isPause
        rooms[roomID]?.wait = Task {
            do { try await clock.sleep(for: duration) } catch { return }  // another wait has replaced it
            guard !Task.isCancelled else { return }
            // From here on, newly read messages must not cancel this task, because it sends.
            rooms[roomID]?.wait = nil
            rooms[roomID]?.isPaused = false
            await flush(roomID)
        }
    }

    /// Sends a room's receipts, one request at a time. Messages that are read meanwhile wait for the next flush.
    private func flush(_ roomID: String) async {
        while let flushing = rooms[roomID]?.flushing { await flushing.value }
        guard let pending = rooms[roomID], !pending.ids.isEmpty else { return }
        pending.wait?.cancel()
        let flushing = Task { await flush(first: pending.ids.count, in: roomID) }
        rooms[roomID]?.wait = nil
        rooms[roomID]?.isPaused = false
        rooms[roomID]?.firstAt = nil
        rooms[roomID]?.flushing = flushing
        await flushing.value
    }

    private func flush(first count: Int, in roomID: String) async {
        var left = count
        var failure: ClientFailure?
        while failure == nil, left > 0, let ids = rooms[roomID]?.ids.prefix(min(left, Self.callLimit)), !ids.isEmpty {
            left -= ids.count
            do {
                try await server.markRead(Array(ids), in: roomID)
                drop(ids.count, in: roomID)
                onChange?(.sent(Array(ids)), roomID)
                rooms[roomID]?.backoff.reset()
            } catch ClientFailure.refused(let refusal) where Self.finalCodes.contains(refusal.code) {
                drop(ids.count, in: roomID)
                onChange?(.refused(Array(ids)), roomID)
            } catch {
                failure = ClientFailure(error)
            }
        }
        rooms[roomID]?.flushing = nil
        keep(roomID)
        guard let failure else { return }
        let asked = failure.retryAfter
        // Messages that were read meanwhile have started a wait, which retries these receipts, too. That wait is
        // replaced only if the server asked for a pause, because the wait may be shorter than the pause.
        guard asked != nil || rooms[roomID]?.wait == nil else { return }
        let pause = rooms[roomID]?.backoff.next(random: random(), atLeast: asked)
        if let pause { wait(for: pause, in: roomID, isPause: asked != nil) }
    }

    /// Removes the ids of the last request, which were sent or are not needed. They are still the first ones. While a
    /// request is in progress, ids are only added at the end, or all removed.
    private func drop(_ count: Int, in roomID: String) {
        rooms[roomID]?.removeFirst(count)
    }
}
