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
    func start(_ stream: String, after position: LogPosition)
    /// - Parameter entries: at least one; each log's entries are passed in order, each once.
    func receive(_ entries: [LogEntry], of stream: String)
    /// Called when a log is no longer followed because its service was removed. `start` may not have been called for it
    /// yet. If the service returns, `start` is called again.
    func end(_ stream: String)
}

/// Follows the logs of the services that have one.
final class LogFollowers: Sendable {
    private struct State {
        var followers: [String: LogFollower] = [:]
        /// The services that announced themselves and, if they have a log, are followed from a known
        /// position.
        var settled: Set<String> = []
    }

    private let state = Mutex(State())
    private let bus: any MessageBus
    private let loop: EventLoop
    private let log: Logger
    private let faults: AnswerFaults
    private let receiver: any LogReceiver

    /// The least time between two replacements of the log of a service that Parlor does not require. Each closes clients'
    /// sockets, which no such service may do at will.
    static let restartInterval: Duration = .seconds(600)
    static let settlingInterval: Duration = .milliseconds(2)

    /// - Parameter receiver: receives the entries of every service's log, on the loop.
    init(bus: any MessageBus, on loop: EventLoop, log: Logger, faults: AnswerFaults, receiver: any LogReceiver) {
        self.bus = bus
        self.loop = loop
        self.log = log
        self.faults = faults
        self.receiver = receiver
    }

    var count: Int { state.withLock { $0.followers.count } }

    subscript(service: String) -> LogFollower? { state.withLock { $0.followers[service] } }

    /// Follows a service's log from now on, until `remove`. If the bus refuses the subscription, the next
    /// announcement tries again.
    ///
    /// - Parameter isRequired: true if its log may be replaced at any time, as by the restore of a backup.
    /// - Returns: true if it is followed.
    func follow(_ service: String, isRequired: Bool) -> Bool {
        guard self[service] == nil else { return true }
        let follower = LogFollower(
            service, bus: bus, on: loop, log: log, faults: faults,
            restartInterval: isRequired ? .zero : Self.restartInterval,
            deliver: { [receiver] in receiver.receive($0, of: service) },
            onStart: { [receiver, weak self] position in
                receiver.start(service, after: position)
                self?.noteSettled(service)
            })
        do throws(BusError) {
            try follower.start()
        } catch {
            log.error("a service cannot be followed", ["log": service, "error": "\(error)"])
            return false
        }
        // Another thread may have added a follower meanwhile.
        let kept = state.withLock { state in
            let kept = state.followers[service] ?? follower
            state.followers[service] = kept
            return kept
        }
        if kept !== follower { follower.stop() }
        return true
    }

    func noteSettled(_ service: String) { state.withLock { _ = $0.settled.insert(service) } }

    /// Returns once all of these services are settled; also at the time limit, or if the task is cancelled.
    ///
    /// - Parameter services: called again until then, as more services may announce themselves.
    /// - Returns: the services that are still missing.
    func settle(within limit: Duration, _ services: () -> Set<String>) async -> Set<String> {
        let end = LoopInstant.now() + limit
        while true {
            let missing = services().subtracting(state.withLock { $0.settled })
            if missing.isEmpty || LoopInstant.now() >= end || Task.isCancelled { return missing }
            try? await Task.sleep(for: Self.settlingInterval)  // cancelled: the loop ends
        }
    }

    /// Stops following the log of a removed service, and reports its end. If the service returns, its log starts like
    /// that of a new one. Calls for one service must not overlap.
    func remove(_ service: String) {
        let follower = state.withLock { state in
            state.settled.remove(service)
            return state.followers[service]
        }
        guard let follower else { return }
        // Stop it before another follower can be added, so that the new log starts after this one ends.
        follower.stop()
        loop.execute { [receiver] in receiver.end(service) }
        state.withLock { $0.followers[service] = nil }
    }

    /// Stops following all logs.
    func stop() {
        let followers = state.withLock { $0.followers.values }
        for follower in followers { follower.stop() }
    }
}
