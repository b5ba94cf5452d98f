import Foundation

/// A change of an own message that is being sent.
public enum OutboxChange: Equatable, Sendable {
    /// All unsent messages of the room, in the order in which they were typed; the first change for
    /// a new follower.
    case all([PendingMessage])
    case added(PendingMessage)
    case state(tempID: String, PendingMessage.State)
    case stored(tempID: String, Message)
    /// The message was discarded, or the server had it and it was deleted since.
    case removed(tempID: String)
}

/// Own messages until the server has stored them, across restarts of the app.
///
/// When ``append(_:in:)`` returns, a message is on disk, or has failed with `not_kept`. A message of the
/// latter kind stays until it is retried, discarded, or the app ends. Each room sends one message at a time,
/// in the order typed; rooms don't wait for one another. A message whose answer was lost is sent again with
/// the same `tempId`, so the server stores it once. A message leaves the outbox only when the server has
/// stored it, when it is discarded, or when the person leaves its room.
///
/// While the server is unreachable, unreadable, or asks to wait, a room's messages wait behind the first: for
/// the connection, or for a pause that doubles up to ``Settings/longestPause``. A message that the server
/// permanently refuses fails, and later ones are still sent: a text that is too long must not block a room. A
/// retried message is sent before later ones that are still waiting.
public actor Outbox {
    public struct Settings: Sendable {
        /// The first pause. The actual pause is a random part of it, and it doubles with every
        /// failure, so that devices don't all return at once.
        public var firstPause: Duration = .milliseconds(500)
        public var longestPause: Duration = .seconds(30)
        /// True if a message also survives a power cut, not only the end of the app.
        public var isForced = true

        public init() {}
    }

    public typealias Follower = @MainActor @Sendable (OutboxChange) -> Void

    /// A room's messages, with their sender and followers.
    struct Queue {
        var entries: [OutboxEntry] = []
        var sender: Task<Void, Never>?
        var pause: Pause?
        /// The number of consecutive failures.
        var failures = 0
        var followers: [Int: Follower] = [:]
        /// Rises with every change of `entries`.
        var version = 0
    }

    struct Pause {
        let task: Task<Void, Never>
        /// True if a new connection ends the wait; false if the server has set the time.
        let endsOnConnection: Bool
    }

    let server: any MessageServer
    let clock: any ClientClock
    let settings: Settings
    let random: @Sendable () -> Double
    let files: OutboxFiles
    var queues: [String: Queue] = [:]
    private var lastFollower = 0
    /// The number of connections so far.
    var connections = 0
    private(set) var isStopped = false
    /// The reason why the stored messages could not be read at the last attempt; nil once they have
    /// been.
    var keptFailure: (any Error)? = NotTakenOver()
    var failures: [OutboxFailure] = []
    /// The number of the last typed message.
    var lastNumber = 0

    /// - Parameters:
    ///   - folder: a folder for one person on one server, used by this outbox alone.
    ///   - random: returns a number from 0 up to 1.
    public init(
        folder: URL, server: any MessageServer, clock: any ClientClock, settings: Settings = Settings(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.init(folder: folder, server: server, clock: clock, settings: settings, random: random, mark: nil)
    }

    init(
        folder: URL, server: any MessageServer, clock: any ClientClock, settings: Settings,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }, mark: SignOutMark?
    ) {
        files = OutboxFiles(files: RoomFiles(folder: folder, mark: mark), isForced: settings.isForced)
        self.server = server
        self.clock = clock
        self.settings = settings
        self.random = random
    }

    /// Reads the stored messages and continues to send them. Calls that need them, such as ``append(_:in:)``
    /// and ``follow(_:as:)``, read them too.
    ///
    /// - Returns: the files that could not be read, for the app to report; each once, also those of
    ///   calls that threw.
    /// - Throws: the file system's error of the folder. Then nothing is taken over, and the next
    ///   call tries again.
    public func start() throws -> [OutboxFailure] {
        takeOverKept()
        if let keptFailure, !isStopped { throw keptFailure }
        defer { failures = [] }
        return failures
    }

    /// Stores a message, and sends it in its turn.
    ///
    /// - Throws: `SendFailure` with the code `stopped`: then the outbox does not have it. A disk error is not
    ///   thrown here, but sets the message's state.
    public func append(_ message: PendingMessage, in roomID: String) async throws(SendFailure) {
        guard !isStopped else { throw SendFailure(code: "stopped", message: "Nothing is sent any more.") }
        takeOverKept()
        guard index(of: message.tempID, in: roomID) == nil else { return }
        lastNumber += 1
        var entry = OutboxEntry(message: message, number: lastNumber, isKept: false)
        entry.message.state = .queued
        queues[roomID, default: Queue()].entries.append(entry)
        let state = keep(message.tempID, in: roomID)
        entry.message.state = state
        await notifyObservers(.added(entry.message), in: roomID)
        wake(roomID)
    }

    /// Sends a failed message again; waiting messages are sent at once.
    ///
    /// - Returns: false if the outbox does not have it.
    public func retry(_ tempID: String, in roomID: String) async -> Bool {
        takeOverKept()
        guard !isStopped, let index = index(of: tempID, in: roomID) else { return false }
        if queues[roomID]?.entries[index].message.state.isFailed == true {
            await setState(.queued, of: tempID, in: roomID)
        }
        queues[roomID]?.pause?.task.cancel()
        wake(roomID)
        return true
    }

    /// Discards a message.
    ///
    /// A waiting message whose answer was lost may be stored on the server. It is then shown like any other.
    ///
    /// - Returns: false if it is being sent, or is not in the outbox.
    public func discard(_ tempID: String, in roomID: String) async -> Bool {
        guard let index = index(of: tempID, in: roomID), queues[roomID]?.entries[index].message.state != .sent
        else {
            return false
        }
        remove(tempID, in: roomID)
        await notifyObservers(.removed(tempID: tempID), in: roomID)
        return true
    }

    /// Removes the messages of a room that the person is no longer in; none of them is sent.
    public func removeAll(in roomID: String) async {
        takeOverKept()
        guard let entries = queues[roomID]?.entries, !entries.isEmpty else { return }
        queues[roomID]?.entries = []
        queues[roomID]?.version += 1
        queues[roomID]?.pause?.task.cancel()
        for entry in entries { removeFile(of: entry, in: roomID) }
        await notifyObservers(.all([]), in: roomID)
    }

    /// Removes a message that an event or a page shows to be stored: it is not sent again, and a late answer
    /// has no effect.
    public func noteStored(_ tempID: String, in roomID: String) { remove(tempID, in: roomID) }

    /// Ends the waits for a connection, as the server can be reached again.
    public func noteConnection() {
        connections += 1
        takeOverKept()
        for queue in queues.values {
            if let pause = queue.pause, pause.endsOnConnection { pause.task.cancel() }
        }
    }

    public func messages(in roomID: String) -> [PendingMessage] { queues[roomID]?.entries.map(\.message) ?? [] }

    /// Calls the follower with all messages of a room first, then with every change in order.
    ///
    /// - Returns: the id for ``unfollow(_:in:)``.
    public func follow(_ roomID: String, as follower: @escaping Follower) async -> Int {
        takeOverKept()
        var seen: Int
        repeat {
            seen = queues[roomID]?.version ?? 0
            await follower(.all(messages(in: roomID)))
        } while seen != queues[roomID]?.version ?? 0
        lastFollower += 1
        queues[roomID, default: Queue()].followers[lastFollower] = follower
        return lastFollower
    }

    public func unfollow(_ follower: Int, in roomID: String) { queues[roomID]?.followers[follower] = nil }

    /// Stops sending, and leaves the disk as it is.
    public func stop() {
        isStopped = true
        for queue in queues.values {
            queue.pause?.task.cancel()
            queue.sender?.cancel()
        }
    }

    /// Stops, and removes all unsent messages from this device, after signing out.
    public func stopAndRemoveAll() throws {
        stop()
        queues.removeAll()
        try files.files.removeAll()
    }
}
