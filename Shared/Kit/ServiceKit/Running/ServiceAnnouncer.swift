import Contracts
import JSON
import MessageBus
import Storage
import Synchronization

/// Says on the bus what a service offers, and where its event log ends.
///
/// The end is the database's, which other instances write too: what one of them committed and could not tell, as it died or
/// never heard that it had committed, is told by whoever looks next.
final class ServiceAnnouncer: Sendable {
    private struct State {
        /// The last end that was told, by an entry or an announcement.
        var told: Bookmark
        var isAnnouncing = false
        /// Asked for while one was under way, whose end may have been read before.
        var isWantedAgain = false
        var watching: Task<Void, Never>?
        var isStopped = false
    }

    /// After which an announcement is tried again that the bus had no room for.
    private static let retryInterval: Duration = .milliseconds(250)

    private let subject: String
    private let manifest: JSONValue
    private let requests: LogRequests
    private let bus: any MessageBus
    private let log: Logger
    private let interval: Duration
    private let state: Mutex<State>

    init(_ manifest: Manifest, of database: any Database, on bus: any MessageBus, log: Logger, every interval: Duration)
    {
        subject = Subject.announce(of: manifest.service)
        self.manifest = manifest.json
        requests = LogRequests(database: database)
        self.bus = bus
        self.log = log
        self.interval = interval
        state = Mutex(State(told: Bookmark(databaseID: database.databaseID, seq: 0, digest: 0)))
    }

    /// The last entry that this instance has told of.
    var lastTold: Int { state.withLock { $0.told.seq } }

    /// An entry was published.
    func noteTold(_ entry: StreamEntry, in databaseID: String) {
        state.withLock { state in
            // Its digest is made only when it is announced, from the database.
            if entry.seq > state.told.seq { state.told = Bookmark(databaseID: databaseID, seq: entry.seq, digest: 0) }
        }
    }

    /// Announces, and goes on looking at the log.
    ///
    /// - Throws: `StorageError` if it cannot be read.
    func start() async throws {
        let head = try await requests.head()
        announce(head)
        let watching = Task {
            while true {
                do { try await Task.sleep(for: interval) } catch { return }
                // Nothing is missed: the next look finds it.
                if let head = try? await requests.head(), head.seq > lastTold { announce(head) }
            }
        }
        state.withLock { $0.watching = watching }
    }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.watching?.cancel()
        }
    }

    /// Soon, with the end that the log has then.
    func announce() {
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
                    announce(try await requests.head())
                } catch {
                    // Without its database it can do nothing, and says where it stood: whoever asks it is told the rest.
                    log.warning("the end of the event log cannot be read", ["error": "\(error)"])
                    announce(state.withLock { $0.told })
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

    private func announce(_ head: Bookmark) {
        guard !state.withLock(\.isStopped) else { return }
        let announcement = JSONWriter.object(reservingCapacity: 4096) {
            $0.member("manifest", manifest)
            $0.member("head", object: { head.writeMembers(to: &$0) })
        }
        do throws(BusError) {
            try bus.publish(subject, announcement)
            state.withLock { if head.seq >= $0.told.seq { $0.told = head } }
        } catch {
            log.error("the service could not be announced", ["error": "\(error)"])
            guard error == .slowConsumer else { return }
            Task {
                try? await Task.sleep(for: Self.retryInterval)  // nobody cancels it
                announce()
            }
        }
    }
}
