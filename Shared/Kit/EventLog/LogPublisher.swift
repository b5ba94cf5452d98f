import ParlorContracts
import ParlorJSON
import ParlorLogging
import ParlorMessageBus
import ParlorStorage
import Synchronization

/// Publishes a service's logs on the bus: each entry after its commit, and announcements with the
/// heads of the logs and the service's manifest.
///
/// A head is read from the database, because other instances write too. An instance may commit an
/// entry and not publish it: it died, or it never learned that the commit succeeded. The next
/// reader of the head announces it, and followers fetch the entry.
public final class LogPublisher: Sendable {
    private struct Published {
        /// The last head that was announced.
        var announced: LogPosition
        /// The last entry that was published. Its digest is computed only when an announcement needs it.
        var lastEntry: LogEntry?

        /// The number of the last entry that was published or announced.
        var seq: Int { max(announced.seq, lastEntry?.seq ?? 0) }

        /// The position of that entry.
        var position: LogPosition {
            guard let lastEntry, lastEntry.seq > announced.seq else { return announced }
            return LogPosition(after: lastEntry, in: announced.databaseID)
        }
    }

    private struct State {
        /// By the numbers of the logs.
        var logs: [Int: Published]
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
    }

    /// The pause before an announcement is repeated because the bus's queue was full.
    private static let retryInterval: Duration = .milliseconds(250)

    private let service: String
    private let manifest: JSONValue
    private let logs: EventLogs
    private let knowsLogs: Bool
    private let bus: any MessageBus
    private let log: Logger
    private let interval: Duration
    private let state: Mutex<State>

    /// - Parameter knowsLogs: false if another program may have changed the number of logs. Then nothing is announced while
    ///   the database cannot be read.
    /// - Parameter interval: how often the head of the log is read to find entries that were not published.
    public init(
        _ manifest: Manifest, of logs: EventLogs, knowsLogs: Bool = true, on bus: any MessageBus, log: Logger,
        every interval: Duration
    ) {
        service = manifest.service
        self.manifest = manifest.json
        self.logs = logs
        self.knowsLogs = knowsLogs
        self.bus = bus
        self.log = log
        self.interval = interval
        let beginning = Published(announced: LogPosition(after: nil, in: logs.database.databaseID))
        state = Mutex(State(logs: Dictionary(uniqueKeysWithValues: logs.numbers.map { ($0, beginning) })))
    }

    /// The last entry of each log that this instance has published or announced.
    public var lastPublished: [LogID: Int] {
        state.withLock { state in
            Dictionary(uniqueKeysWithValues: state.logs.map { (LogID(service, $0.key), $0.value.seq) })
        }
    }

    // MARK: Entries

    /// Publishes every commit's entries from now on. To be called once, before the first write.
    public func attach() {
        logs.database.onCommit { [weak self] events in self?.publish(events) }
    }

    /// Publishes a commit's entries, which are of one log. Called on the thread that writes to it, in the order of commits.
    private func publish(_ events: [any CommitEvent]) {
        var entries: [LogEntry] = []
        entries.reserveCapacity(events.count)
        for case let entry as LogEntry in events { entries.append(entry) }
        guard let number = entries.first?.log else { return }
        var last: LogEntry?
        var refused: [(entry: LogEntry, error: BusError)] = []
        for (entry, error) in zip(entries, bus.publish(Subject.log(of: LogID(service, number)), all: entries)) {
            if let error { refused.append((entry, error)) } else { last = entry }
        }
        if let last {
            state.withLock { if last.seq > $0.logs[number]?.seq ?? .max { $0.logs[number]?.lastEntry = last } }
        }
        guard let first = refused.first else { return }
        // The refused entries are in the log. A later entry shows followers the gap; if the newest entry was
        // refused, only an announcement does.
        log.warning(
            "entries were not published",
            ["seq": first.entry.seq, "count": refused.count, "error": "\(first.error)"])
        announce()
    }

    // MARK: The heads

    /// Announces the service, and reads the heads of the logs periodically.
    ///
    /// - Throws: `StorageError` if it cannot be read.
    public func start() async throws {
        announce(try await logs.heads())
        let watching = Task {
            while true {
                do { try await Task.sleep(for: interval) } catch { return }
                let published = state.withLock { $0.logs }
                // A failed read loses nothing: the next round reads the heads again.
                guard let heads = try? await logs.heads() else { continue }
                let hasLost = noteLosses(since: published, to: heads)
                let hasMore = state.withLock { state in heads.contains { $1.seq > state.logs[$0]?.seq ?? .max } }
                if hasLost || hasMore { announce(heads) }
            }
        }
        state.withLock { $0.watching = watching }
    }

    /// Notes that published entries are gone, such as after the failover to a database server that lacked them. The
    /// announcement of the earlier head shows it to followers.
    ///
    /// - Returns: true if a log has lost entries.
    private func noteLosses(since published: [Int: Published], to heads: [Int: LogPosition]) -> Bool {
        let losses = heads.filter { $0.value.seq < published[$0.key]?.seq ?? 0 }
        for (number, head) in losses {
            log.error(
                "the event log has lost its newest entries",
                ["log": "\(LogID(service, number))", "published": published[number]?.seq ?? 0, "head": head.seq])
            state.withLock { $0.logs[number] = Published(announced: head) }
        }
        return !losses.isEmpty
    }

    public func stop() {
        state.withLock { state in
            state.isStopped = true
            state.watching?.cancel()
        }
    }

    /// Announces the service soon, with the heads of the logs at that time.
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
                    announce(try await logs.heads())
                } catch {
                    // Without its database the service cannot do anything. It announces the heads that it knows;
                    // followers get the rest when they ask.
                    log.warning("the head of the event log cannot be read", ["error": "\(error)"])
                    if knowsLogs { announce(state.withLock { $0.logs }.mapValues(\.position)) }
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

    private func announce(_ heads: [Int: LogPosition]) {
        guard !state.withLock(\.isStopped) else { return }
        let announcement = JSONWriter.object(reservingCapacity: 4096) {
            $0.member("manifest", manifest)
            if logs.numbers == [0], let head = heads[0] {
                $0.member("head", object: { head.writeMembers(to: &$0) })
            } else {
                heads.write(to: &$0)
            }
        }
        do throws(BusError) {
            try bus.publish(Subject.announce(of: service), announcement)
            state.withLock { state in
                for (number, head) in heads where head.seq >= state.logs[number]?.seq ?? .max {
                    state.logs[number]?.announced = head
                }
            }
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
