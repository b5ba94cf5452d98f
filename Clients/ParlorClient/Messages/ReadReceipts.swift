import Foundation

/// Sends read receipts to the server, in few requests.
///
/// Ids are collected until none has come for ``Settings/pause``, at most for ``Settings/longestWait``.
/// Receipts that could not be sent are kept, and sent with the next connection, with the next message read,
/// or after a pause. If the server refuses them with a `Retry-After`, they wait for its end; only ``flush()``
/// sends them earlier. A refusal over the socket has none. They are not on disk: at the next visit the person
/// reads the messages again.
public actor ReadReceipts {
    public struct Settings: Sendable {
        public var pause: Duration = .milliseconds(500)
        public var longestWait: Duration = .seconds(2)
        /// The bound of the first pause before a retry, of which a random part is used; it doubles
        /// with each retry.
        public var retryPause: Duration = .seconds(10)
        public var longestPause: Duration = .seconds(60)

        public init() {}
    }

    /// The server's maximum of ids in one request.
    private static let callLimit = 500
    /// Refusals after which receipts are dropped: the person is not in the room, or the server will never
    /// accept these ids.
    private static let finalCodes: Set<String> = [
        "room_not_found", "message_not_found", "route_not_found", "forbidden", "invalid_field", "malformed_request",
    ]
    /// The number of remembered ids: enough for everything on the screen, so that no receipt is sent twice.
    private static let rememberedIDs = 2_000

    private struct PendingReceipts {
        /// The ids in the order read, each once.
        private(set) var ids: [String] = []
        private var known: Set<String> = []
        var backoff: Backoff
        var firstAt: Date?
        /// The task that waits until they are sent.
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
    private var rooms: [String: PendingReceipts] = [:]
    private var isRemoved = false
    /// Ids that were collected or sent before.
    private var seen = RecentValues<Bool>(limit: rememberedIDs)

    /// - Parameter random: returns a number from 0 up to 1.
    public init(
        server: any MessageServer, clock: any ClientClock, settings: Settings = Settings(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.random = random
        self.server = server
        self.clock = clock
        self.settings = settings
    }

    /// Adds others' messages that were read. Receipts that were sent before are not sent again.
    public func add(_ messageIDs: [String], in roomID: String) {
        let new = messageIDs.filter { seen[$0] == nil }
        guard !new.isEmpty, !isRemoved else { return }
        var pending =
            rooms[roomID]
            ?? PendingReceipts(
                retryingWith: Backoff(from: settings.retryPause, upTo: settings.longestPause))
        for id in new {
            seen.set(true, for: id)
            pending.add(id)
        }
        let firstAt = pending.firstAt ?? clock.now
        pending.firstAt = firstAt
        rooms[roomID] = pending
        if pending.isPaused { return }
        let left = settings.longestWait - .seconds(clock.now.timeIntervalSince(firstAt))
        wait(for: max(.zero, min(settings.pause, left)), in: roomID)
    }

    /// Sends all receipts now, and returns when each request has succeeded or failed: for an app that goes to
    /// the background, or a room that is left. Rooms do not wait for each other.
    public func flush() async { await flush(rooms.keys.sorted()) }

    /// Sends the waiting receipts, as the server can be reached again. Those whose `Retry-After` has not passed
    /// go on waiting.
    public func noteConnection() async { await flush(rooms.filter { !$0.value.isPaused }.keys.sorted()) }

    private func flush(_ roomIDs: [String]) async {
        let flushes = roomIDs.map { roomID in Task { await flush(roomID) } }
        for flushing in flushes { await flushing.value }
    }

    /// Discards all receipts after signing out. Nothing is sent any more.
    public func removeAll() {
        isRemoved = true
        for pending in rooms.values { pending.wait?.cancel() }
        rooms.removeAll()
    }

    private func wait(for duration: Duration, in roomID: String, isPause: Bool = false) {
        rooms[roomID]?.wait?.cancel()
        rooms[roomID]?.isPaused = isPause
        rooms[roomID]?.wait = Task {
            do { try await clock.sleep(for: duration) } catch { return }  // another wait has replaced it
            guard !Task.isCancelled else { return }
            // Messages read from here on must not cancel the call.
            rooms[roomID]?.wait = nil
            rooms[roomID]?.isPaused = false
            await flush(roomID)
        }
    }

    /// Sends a room's receipts, one request at a time: messages read meanwhile wait for the next.
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
                rooms[roomID]?.backoff.reset()
            } catch ClientFailure.refused(let refusal) where Self.finalCodes.contains(refusal.code) {
                drop(ids.count, in: roomID)
            } catch {
                failure = ClientFailure(error)
            }
        }
        rooms[roomID]?.flushing = nil
        guard let failure else { return }
        let asked = failure.retryAfter
        // The wait of messages read meanwhile is as good, unless it is shorter than the server asks for.
        guard asked != nil || rooms[roomID]?.wait == nil else { return }
        let pause = rooms[roomID]?.backoff.next(random: random(), atLeast: asked)
        if let pause { wait(for: pause, in: roomID, isPause: asked != nil) }
    }

    /// Removes ids that were sent or are not needed. During a request ids are only added, unless
    /// all were removed.
    private func drop(_ count: Int, in roomID: String) {
        rooms[roomID]?.removeFirst(count)
    }
}
