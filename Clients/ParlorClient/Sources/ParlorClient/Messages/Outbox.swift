import Foundation

/// A change of a message in the outbox.
package enum OutboxChange: Equatable, Sendable {
    /// All unsent messages of the room, in the order typed. A new follower gets this first. It also comes after stored
    /// messages have been read, and after all messages of the room were removed.
    case all([PendingMessage])
    case added(PendingMessage)
    case state(tempID: String, PendingMessage.State)
    case stored(tempID: String, Message)
    /// The message was discarded, or the server had it and it was deleted since.
    case removed(tempID: String)
}

/// Stores the person's messages, and sends each until the server has stored it, also after a restart of the app.
///
/// When ``append(_:in:)`` returns, a message is on disk, or has failed with `not_kept`. A message that failed in
/// this way stays until it is retried or discarded, or the app ends. Each room sends one message at a time, in the
/// order typed. Rooms do not wait for each other. A message whose answer was lost is sent again with the same
/// `tempID`, so the server stores it once. A message leaves the outbox only when the server has stored it, when it is
/// discarded, when the person is no longer in its room, or when the person signs out.
///
/// If the server cannot be reached or sends an unreadable answer, the first message of a room waits for the next
/// connection, or for a pause that doubles up to ``Settings/longestPause``. If the server asks for a pause, the message
/// waits for that time. The room's other messages wait behind it. If the server permanently refuses a message, that
/// message fails and later ones are still sent, so a text that is too long does not block its room. A retried message
/// is sent before later ones that still wait. A message that could not be sent for a day fails with `too_old`.
package actor Outbox {
    /// The settings of an outbox.
    package struct Settings: Sendable {
        /// The bound of the first pause. Each pause is random, up to the bound, so that devices do not all return at
        /// once. Each failure doubles the bound.
        package var firstPause: Duration = .milliseconds(500)
        /// The maximum of that bound.
        package var longestPause: Duration = .seconds(30)
        /// True if a message also survives a power cut, not only the end of the app.
        package var isForced = true

        package init() {}
    }

    /// Receives the changes of one room's messages.
    package typealias Follower = @MainActor @Sendable (OutboxChange) -> Void

    /// The task that sends a room's messages, and those who follow them.
    struct Lane {
        var sender: Task<Void, Never>?
        var pause: Pause?
        /// The number of consecutive failures.
        var failures = 0
        var followers: [Int: Follower] = [:]
    }

    struct Pause {
        let task: Task<Void, Never>
        /// True if a new connection ends the wait; false if the server has set the time.
        let endsOnConnection: Bool
    }

    /// The age in seconds from which a message is not sent by itself. What was written yesterday may not be true today.
    static let maxAge: TimeInterval = 24 * 60 * 60

    let server: any MessageServer
    let clock: any ClientClock
    let settings: Settings
    let random: @Sendable () -> Double
    let log: ClientLog
    let stored: OutboxMessages
    /// Called once the stored messages have been read, no matter which call has read them. ``start()`` then succeeds.
    private let onRead: (@MainActor @Sendable () async -> Void)?
    /// Called with the id of a room if the server refuses a message because it does not know the room.
    let onUnknownRoom: (@MainActor @Sendable (String) -> Void)?
    var lanes: [String: Lane] = [:]
    private var lastFollower = 0
    /// Counts connections, so that an attempt can notice that one came meanwhile.
    private(set) var connections = 0

    /// - Parameter random: returns a number from 0 up to 1.
    package init(
        files: RoomFiles, server: any MessageServer, clock: any ClientClock, settings: Settings = Settings(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.init(files: files, server: server, clock: clock, settings: settings, random: random, log: .none)
    }

    init(
        files: RoomFiles, server: any MessageServer, clock: any ClientClock, settings: Settings,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }, log: ClientLog,
        onRead: (@MainActor @Sendable () async -> Void)? = nil,
        onUnknownRoom: (@MainActor @Sendable (String) -> Void)? = nil,
        onFailedRooms: (@MainActor @Sendable (FailedRooms) -> Void)? = nil
    ) {
        stored = OutboxMessages(files: OutboxFiles(files: files, isForced: settings.isForced)) { rooms in
            // Not awaited, so that a busy main actor delays no message. Older values that arrive later are ignored.
            if let onFailedRooms { Task { await onFailedRooms(rooms) } }
        }
        self.log = log
        self.server = server
        self.clock = clock
        self.settings = settings
        self.random = random
        self.onRead = onRead
        self.onUnknownRoom = onUnknownRoom
    }

    /// Reads the stored messages and continues to send them. Calls that need them, such as ``append(_:in:)``
    /// and ``follow(_:as:)``, read them too.
    ///
    /// - Returns: the files that could not be read, for the app to report. Each is returned once, also if an earlier
    ///   call found it and threw.
    /// - Throws: the file system's error, or the refusal `not_forgotten`. Then no stored message is sent, and the next
    ///   call tries again.
    package func start() throws -> [OutboxFailure] {
        restore()
        if let failure = stored.readFailure, !isStopped { throw failure }
        return stored.takeUnreadable()
    }

    private func restore() {
        guard let roomIDs = stored.restore() else { return }
        for roomID in roomIDs {
            wake(roomID)
            guard lanes[roomID]?.followers.isEmpty == false else { continue }
            Task { await notifyFollowers(of: roomID, .all(messages(in: roomID))) }
        }
        if let onRead { Task { await onRead() } }
    }

    /// Stores a message, and sends it in its turn. Does nothing if the outbox already has it.
    ///
    /// - Throws: `SendFailure` with the code `stopped`: the outbox does not accept the message. A disk error is not
    ///   thrown, but sets the message's state.
    package func append(_ message: PendingMessage, in roomID: String) async throws(SendFailure) {
        guard !isStopped else { throw SendFailure(code: "stopped", message: "Messages are no longer sent.") }
        restore()
        guard stored.entry(message.tempID, in: roomID) == nil else { return }
        await notifyFollowers(of: roomID, .added(stored.add(message, in: roomID)))
        wake(roomID)
    }

    /// Sends a failed message again, and ends the pause of the room's waiting messages.
    ///
    /// - Returns: false if the outbox does not have the message, or is stopped.
    package func retry(_ tempID: String, in roomID: String) async -> Bool {
        restore()
        guard !isStopped, stored.entry(tempID, in: roomID) != nil else { return false }
        if let state = stored.retry(tempID, in: roomID, at: clock.now) {
            await notifyFollowers(of: roomID, .state(tempID: tempID, state))
        }
        lanes[roomID]?.pause?.task.cancel()
        wake(roomID)
        return true
    }

    /// Discards a message.
    ///
    /// If an earlier attempt to send it reached the server, the message stays there, and is shown like any other.
    /// If its file cannot be deleted, the message stays, and has failed with `not_discarded`.
    ///
    /// - Returns: false if it is being sent, is not in the outbox, or cannot be deleted; false after ``stop()``.
    package func discard(_ tempID: String, in roomID: String) async -> Bool {
        guard !isStopped, let state = stored.entry(tempID, in: roomID)?.message.state, state != .sending
        else { return false }
        do {
            try stored.discard(tempID, in: roomID)
        } catch {
            // The failure is written to the file, so the next run does not send the message, unless this write fails
            // too.
            let words = "It cannot be deleted from this device: \(error.localizedDescription)"
            await setState(.failed(SendFailure(code: "not_discarded", message: words)), of: tempID, in: roomID)
            return false
        }
        await notifyFollowers(of: roomID, .removed(tempID: tempID))
        return true
    }

    /// Removes the messages of a room that the person is no longer in; none of them is sent.
    package func removeAll(in roomID: String) async {
        restore()
        guard stored.removeAll(in: roomID) else { return }
        lanes[roomID]?.pause?.task.cancel()
        await notifyFollowers(of: roomID, .all([]))
    }

    /// Removes a message that an event or a page has shown to be stored. It is not sent again, and a late answer to it
    /// has no effect on the outbox.
    package func noteStored(_ tempID: String, in roomID: String) { stored.remove(tempID, in: roomID) }

    /// Notes that the server can be reached, and ends all pauses that the server did not ask for.
    package func noteConnection() {
        connections += 1
        restore()
        for lane in lanes.values {
            if let pause = lane.pause, pause.endsOnConnection { pause.task.cancel() }
        }
    }

    /// Returns a room's messages in the order typed. Messages that have not been read from the disk yet are left out.
    package func messages(in roomID: String) -> [PendingMessage] { stored.messages(in: roomID) }

    /// Returns how many messages, in all rooms, are not known to be on the server. A sign-out would discard them.
    ///
    /// It does not start to send them. If the stored messages were not read from disk yet, it counts their files.
    ///
    /// - Throws: the file system's error; the refusal `not_forgotten`.
    package func unsentCount() throws -> Int { try stored.count() }

    /// Returns when no message is waiting or being sent, when the outbox is stopped, or when the task is cancelled.
    /// Cancelling does not affect the sending. Failed messages are not waited for.
    package func settle() async {
        restore()
        while !Task.isCancelled, !isStopped, let sender = lanes.values.compactMap(\.sender).first {
            // A cancellation ends only this wait. Sending continues.
            _ = try? await Task<Void, any Error> { await sender.value }.valueUnlessCancelled
        }
    }

    // MARK: Followers

    /// Calls the follower with all messages of a room, then with every change, in order.
    ///
    /// - Returns: the id for ``unfollow(_:in:)``.
    package func follow(_ roomID: String, as follower: @escaping Follower) async -> Int {
        restore()
        var seen: Int
        repeat {
            seen = stored.version(of: roomID)
            await follower(.all(messages(in: roomID)))
        } while seen != stored.version(of: roomID)
        lastFollower += 1
        lanes[roomID, default: Lane()].followers[lastFollower] = follower
        return lastFollower
    }

    /// Removes a follower, which is no longer called.
    package func unfollow(_ follower: Int, in roomID: String) { lanes[roomID]?.followers[follower] = nil }

    func notifyFollowers(of roomID: String, _ change: OutboxChange) async {
        let followers = (lanes[roomID]?.followers ?? [:]).sorted { $0.key < $1.key }
        for follower in followers { await follower.value(change) }
    }

    // MARK: The end

    var isStopped: Bool { stored.isStopped }

    /// Stops sending and writing for good. The stored messages stay on disk, for another outbox.
    package func stop() {
        stored.stop()
        for lane in lanes.values {
            lane.pause?.task.cancel()
            lane.sender?.cancel()
        }
    }

    /// Stops, and removes all messages from this device, for a person who signs out.
    ///
    /// - Throws: the file system's error.
    package func stopAndRemoveAll() throws {
        stop()
        lanes.removeAll()
        try stored.removeAll()
    }
}
