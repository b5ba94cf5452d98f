import Foundation

/// A change of an own message on its way.
public enum OutboxChange: Equatable, Sendable {
    /// All unsent messages of the room, in the order in which they were typed; the first change for
    /// a new follower.
    case all([PendingMessage])
    case added(PendingMessage)
    case state(tempID: String, PendingMessage.State)
    case stored(tempID: String, Message)
    /// It was discarded, or the server had it and it is deleted since.
    case removed(tempID: String)
}

/// Own messages until the server has them, across the end of the app.
///
/// A message is on disk when ``append(_:in:)`` returns, or has failed with `not_kept`: then it stays until it is retried,
/// discarded, or the app ends. Each room has one message under way, in the order typed; rooms don't
/// wait for one another. A message that may have arrived, but was not answered, is sent again with the same `tempId`, so the
/// server stores it once. It leaves the outbox when the server has it, when it is discarded, or when its room is no longer one's
/// own, and in no other way.
///
/// While the server is not reached, not understood, or asks to wait, a room's messages wait behind the first: for the connection, or for a
/// pause that doubles up to ``Settings/longestPause``. A message that the server refuses for good has failed; those after it go
/// on, for they may be of use without it, and a text that is too long must not silence a room. Retried, it goes before those
/// typed later that have not left yet.
public actor Outbox {
    public struct Settings: Sendable {
        /// A pause is a random part of this, which doubles with every failure, so that devices don't come back all at once.
        public var firstPause: Duration = .milliseconds(500)
        public var longestPause: Duration = .seconds(30)
        /// True if a message survives a loss of power too, not only the end of the app.
        public var isForced = true

        public init() {}
    }

    public typealias Follower = @MainActor @Sendable (OutboxChange) -> Void

    /// A room's messages, and who sends and shows them.
    struct Queue {
        var entries: [OutboxEntry] = []
        var sender: Task<Void, Never>?
        var pause: Pause?
        /// In a row.
        var failures = 0
        var followers: [Int: Follower] = [:]
        /// Rises with every change of `entries`.
        var version = 0
    }

    struct Pause {
        let task: Task<Void, Never>
        /// Not, if the server has named the time.
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
    /// The number of the last message that was typed.
    var lastNumber = 0

    /// - Parameters:
    ///   - folder: of one person on one server, and of this outbox alone.
    ///   - random: from 0 up to 1.
    public init(
        folder: URL, server: any MessageServer, clock: any ClientClock, settings: Settings = Settings(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        files = OutboxFiles(files: RoomFiles(folder: folder), isForced: settings.isForced)
        self.server = server
        self.clock = clock
        self.settings = settings
        self.random = random
    }

    /// Reads the stored messages and continues to send them. All other calls do so too, if this was
    /// not called before.
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

    /// Takes a message, keeps it, and sends it in its turn.
    ///
    /// - Throws: `SendFailure` with the code `stopped`: then it is not here. A disk that refuses is no error here, but the
    ///   message's.
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

    /// Sends a failed message again, and those that wait at once.
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

    /// Gives a message up.
    ///
    /// One that waits after a lost answer may be on the server all the same; it is shown then, as any message is.
    ///
    /// - Returns: false for one that is on its way: it cannot be called back.
    public func discard(_ tempID: String, in roomID: String) async -> Bool {
        guard let index = index(of: tempID, in: roomID), queues[roomID]?.entries[index].message.state != .sent
        else {
            return false
        }
        remove(tempID, in: roomID)
        await notifyObservers(.removed(tempID: tempID), in: roomID)
        return true
    }

    /// The room is no longer one's own: nothing of it will ever be sent.
    public func removeAll(in roomID: String) async {
        takeOverKept()
        guard let entries = queues[roomID]?.entries, !entries.isEmpty else { return }
        queues[roomID]?.entries = []
        queues[roomID]?.version += 1
        queues[roomID]?.pause?.task.cancel()
        for entry in entries { removeFile(of: entry, in: roomID) }
        await notifyObservers(.all([]), in: roomID)
    }

    /// The server is known to have it, from an event or a page: there is no need to ask again, and an answer that is still to
    /// come changes nothing.
    public func noteStored(_ tempID: String, in roomID: String) { remove(tempID, in: roomID) }

    /// The server can be reached again: who waits for that waits no longer.
    public func noteConnection() {
        connections += 1
        takeOverKept()
        for queue in queues.values {
            if let pause = queue.pause, pause.endsOnConnection { pause.task.cancel() }
        }
    }

    public func messages(in roomID: String) -> [PendingMessage] { queues[roomID]?.entries.map(\.message) ?? [] }

    /// Calls the follower with a room's messages: all that there are first, then every change, in
    /// order.
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

    /// Sends nothing any more, and leaves the disk as it is.
    public func stop() {
        isStopped = true
        for queue in queues.values {
            queue.pause?.task.cancel()
            queue.sender?.cancel()
        }
    }

    /// Signed out: stops, and nothing unsent stays on this device.
    public func stopAndRemoveAll() throws {
        stop()
        queues.removeAll()
        try files.files.removeAll()
    }
}
