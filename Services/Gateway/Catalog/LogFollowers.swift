import ParlorContracts
import ParlorEventLog
import ParlorLogging
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit
import Synchronization

/// A receiver of the entries of services' logs, in each log's order. Called on the directory's loop.
package protocol LogReceiver: Sendable {
    /// Called when following starts after this position: at the beginning, or because the log was
    /// replaced.
    func start(_ logID: LogID, after position: LogPosition)
    /// - Parameter entries: at least one; each log's entries are passed in order, each once.
    func receive(_ entries: [LogEntry], of logID: LogID)
    /// Called when a log is no longer followed because its service was removed. `start` may not have been called for it
    /// yet. If the service returns, `start` is called again.
    func end(_ logID: LogID)
}

/// Follows the logs of the services that have one.
final class LogFollowers: Sendable {
    private struct State {
        var followers: [LogID: LogFollower] = [:]
        /// The logs that are followed from a known position, and those that services announced that they do not have.
        var settled: Set<LogID> = []
    }

    private let state = Mutex(State())
    private let bus: any MessageBus
    private let loop: EventLoop
    private let log: Logger
    private let faults: ReplyFaults
    private let receiver: any LogReceiver

    /// The least time between two replacements of the log of a service that Parlor does not require. Each closes clients'
    /// sockets, which no such service may do at will.
    static let restartInterval: Duration = .seconds(600)
    static let settlingInterval: Duration = .milliseconds(2)

    /// - Parameter receiver: receives the entries of every service's log, on the loop.
    init(bus: any MessageBus, on loop: EventLoop, log: Logger, faults: ReplyFaults, receiver: any LogReceiver) {
        self.bus = bus
        self.loop = loop
        self.log = log
        self.faults = faults
        self.receiver = receiver
    }

    /// The services of the followed logs.
    var services: Set<String> { state.withLock { Set($0.followers.keys.map(\.service)) } }

    /// Returns true if a log of the service is followed, besides these.
    func follows(_ service: String, besides logs: [LogID] = []) -> Bool {
        state.withLock { $0.followers.keys.contains { $0.service == service && !logs.contains($0) } }
    }

    subscript(logID: LogID) -> LogFollower? { state.withLock { $0.followers[logID] } }

    /// Follows a log from now on, until `remove`. If the bus refuses the subscription, the next
    /// announcement tries again.
    ///
    /// - Parameter isRequired: true if the log may be replaced at any time, as by the restore of a backup.
    /// - Returns: true if it is followed.
    func follow(_ logID: LogID, isRequired: Bool) -> Bool {
        guard self[logID] == nil else { return true }
        let follower = LogFollower(
            logID, bus: bus, on: loop, log: log, faults: faults,
            restartInterval: isRequired ? .zero : Self.restartInterval,
            deliver: { [receiver] in receiver.receive($0, of: logID) },
            onStart: { [receiver, weak self] position in
                receiver.start(logID, after: position)
                self?.noteSettled(logID)
            })
        do throws(BusError) {
            try follower.start()
        } catch {
            log.error("a service cannot be followed", ["log": logID.name, "error": "\(error)"])
            return false
        }
        // Another thread may have added a follower meanwhile.
        let kept = state.withLock { state in
            let kept = state.followers[logID] ?? follower
            state.followers[logID] = kept
            return kept
        }
        if kept !== follower { follower.stop() }
        return true
    }

    func noteSettled(_ logID: LogID) { state.withLock { _ = $0.settled.insert(logID) } }

    /// Returns once all of these logs are settled; also at the time limit, or if the task is cancelled.
    ///
    /// - Parameter logs: called again until then, as more services may announce themselves.
    /// - Returns: the logs that are still missing.
    func settle(within limit: Duration, _ logs: () -> Set<LogID>) async -> Set<LogID> {
        let end = LoopInstant.now() + limit
        while true {
            let missing = logs().subtracting(state.withLock { $0.settled })
            if missing.isEmpty || LoopInstant.now() >= end || Task.isCancelled { return missing }
            try? await Task.sleep(for: Self.settlingInterval)  // cancelled: the loop ends
        }
    }

    /// Stops following the logs of a service that was removed, or those that it no longer has, and reports their ends. If
    /// they return, they start like new ones. Calls for one service must not overlap.
    func remove(_ service: String, except logs: [LogID] = []) {
        let followers = state.withLock { state in
            state.settled = state.settled.filter { $0.service != service || logs.contains($0) }
            return state.followers.filter { $0.key.service == service && !logs.contains($0.key) }
        }
        for (logID, follower) in followers {
            // Stop it before another follower can be added, so that the new log starts after this one ends.
            follower.stop()
            loop.execute { [receiver] in receiver.end(logID) }
            state.withLock { $0.followers[logID] = nil }
        }
    }

    /// Stops following all logs.
    func stop() {
        let followers = state.withLock { $0.followers.values }
        for follower in followers { follower.stop() }
    }
}
