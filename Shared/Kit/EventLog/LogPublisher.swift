import ParlorContracts
import ParlorJSON
import ParlorLogging
import ParlorMessageBus
import ParlorStorage
import Synchronization

/// Publishes a service's log on the bus: each entry after its commit, and announcements with the
/// head of the log and the service's manifest.
///
/// The head is read from the database, because other instances write too. An instance may commit an
/// entry and not publish it: it died, or it never learned that the commit succeeded. The next
/// reader of the head announces it, and followers fetch the entry.
public final class LogPublisher: Sendable {
    private struct State {
        /// The last head that was announced.
        var announced: LogPosition
        /// The last entry that was published. Its digest is computed only when an announcement needs it.
        var lastEntry: LogEntry?
        var isAnnouncing = false
        /// True if another announcement was requested while this one is made. This one may already
        /// have read the head, so another follows.
        var isWantedAgain = false
        /// True while a refused announcement waits to be repeated.
        var isRetrying = false
        var watching: Task<Void, Never>?
        var isStopped = false

        /// - Returns: false if a retry waits already. One announces whatever is committed by then.
        mutating func beginRetry() -> Bool {
            defer { isRetrying = true }
            return !isRetrying
        }

        /// The number of the last entry that was published or announced.
        var lastPublished: Int { max(announced.seq, lastEntry?.seq ?? 0) }

        /// The position of that entry.
        func lastPosition(in databaseID: String) -> LogPosition {
            guard let lastEntry, lastEntry.seq > announced.seq else { return announced }
            return LogPosition(after: lastEntry, in: databaseID)
        }
    }

    /// The pause before an announcement is repeated because the bus's queue was full.
    private static let retryInterval: Duration = .milliseconds(250)

    private let logID: LogID
    private let manifest: JSONValue
    private let database: any Database
    private let bus: any MessageBus
    private let log: Logger
    private let interval: Duration
    private let state: Mutex<State>

    /// - Parameter interval: how often the head of the log is read to find entries that were not published.
    public init(
        _ manifest: Manifest, of database: any Database, on bus: any MessageBus, log: Logger, every interval: Duration
    ) {
        logID = LogID(manifest.service)
        self.manifest = manifest.json
        self.database = database
        self.bus = bus
        self.log = log
        self.interval = interval
        state = Mutex(State(announced: LogPosition(after: nil, in: database.databaseID)))
    }

    /// The last entry that this instance has published or announced.
    public var lastPublished: Int { state.withLock { $0.lastPublished } }

    // MARK: Entries

    /// Publishes every commit's entries from now on. To be called once, before the first write.
    public func attach() {
        database.onCommit { [weak self] events in self?.publish(events) }
    }

    /// Publishes a commit's entries. Called on the writing thread, in the order of commits.
    private func publish(_ events: [any CommitEvent]) {
        var entries: [LogEntry] = []
        entries.reserveCapacity(events.count)
        for case let entry as LogEntry in events { entries.append(entry) }
        var last: LogEntry?
        var refused: [(entry: LogEntry, error: BusError)] = []
        for (entry, error) in zip(entries, bus.publish(Subject.log(of: logID), all: entries)) {
            if let error { refused.append((entry, error)) } else { last = entry }
        }
        if let last {
            state.withLock { if last.seq > $0.lastPublished { $0.lastEntry = last } }
        }
        guard let first = refused.first else { return }
        // The refused entries are in the log. A later entry shows followers the gap; if the newest entry was
        // refused, only an announcement does.
        log.warning(
            "entries were not published",
            ["seq": first.entry.seq, "count": refused.count, "error": "\(first.error)"])
        announce()
    }

    // MARK: The head

    /// Announces the service, and reads the head of the log periodically.
    ///
    /// - Throws: `StorageError` if it cannot be read.
    public func start() async throws {
        announce(try await EventLog(database).position())
        let watching = Task {
            while true {
                do { try await Task.sleep(for: interval) } catch { return }
                let published = lastPublished
                // A failed read loses nothing: the next round reads the head again.
                guard let head = try? await EventLog(database).position() else { continue }
                if head.seq < published { noteLoss(of: published, to: head) }
                if head.seq > lastPublished { announce(head) }
            }
        }
        state.withLock { $0.watching = watching }
    }

    /// Notes that published entries are gone, such as after the failover to a database server that lacked them. The
    /// announcement of the earlier head shows it to followers.
    private func noteLoss(of published: Int, to head: LogPosition) {
        log.error("the event log has lost its newest entries", ["published": published, "head": head.seq])
        state.withLock { state in
            state.announced = head
            state.lastEntry = nil
        }
        announce(head)
    }

    public func stop() {
        state.withLock { state in
            state.isStopped = true
            state.watching?.cancel()
        }
    }

    /// Announces the service soon, with the head of the log at that time.
    public func announce() {
        let starts = state.withLock { state in
            defer {
                state.isWantedAgain = state.isAnnouncing
                state.isAnnouncing = true
            }
            return !state.isAnnouncing && !state.isStopped
        }
        guard starts else { return }
        Task {
            repeat {
                do {
                    announce(try await EventLog(database).position())
                } catch {
                    // Without its database the service cannot do anything. It announces the head that it knows;
                    // followers get the rest when they ask.
                    log.warning("the head of the event log cannot be read", ["error": "\(error)"])
                    announce(state.withLock { $0 }.lastPosition(in: database.databaseID))
                }
            } while isWantedAgain()
        }
    }

    private func isWantedAgain() -> Bool {
        state.withLock { state in
            defer { state.isWantedAgain = false }
            state.isAnnouncing = state.isWantedAgain && !state.isStopped
            return state.isAnnouncing
        }
    }

    private func announce(_ head: LogPosition) {
        guard !state.withLock(\.isStopped) else { return }
        let announcement = JSONWriter.object(reservingCapacity: 4096) {
            $0.member("manifest", manifest)
            $0.member("head", object: { head.writeMembers(to: &$0) })
        }
        do throws(BusError) {
            try bus.publish(Subject.announce(of: logID.service), announcement)
            state.withLock { if head.seq >= $0.lastPublished { $0.announced = head } }
        } catch {
            log.error("the service could not be announced", ["error": "\(error)"])
            guard error == .slowConsumer, state.withLock({ $0.beginRetry() }) else { return }
            Task {
                try? await Task.sleep(for: Self.retryInterval)  // never cancelled
                state.withLock { $0.isRetrying = false }
                announce()
            }
        }
    }
}
