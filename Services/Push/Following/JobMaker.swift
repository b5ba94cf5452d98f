import ParlorContracts
import ParlorEventLog
import ParlorServiceKit
import ParlorStorage

/// Creates jobs from the entries of messaging's log.
struct JobMaker: LogConsumer {
    let database: any Database
    /// Counts how often another log had replaced the followed one.
    let restarts: Counter
    let plan: @Sendable () -> JobPlan
    /// Called when there are new jobs.
    let onJobs: @Sendable () -> Void

    /// Nobody is notified of messages from before push first followed the log, or from before a log that replaced it.
    /// Entries that messaging pruned are too old for a notification; the remaining ones are not.
    func begin(_ log: FollowedLog, because reason: BeginReason) async throws -> LogPosition {
        if reason == .replaced { restarts.add() }
        return reason == .pruned ? log.beginning : log.head
    }

    /// True once somebody has a device. A device that is registered before the log's head is read has to be notified of
    /// entries before that head. So the follower asks again after it has read the head.
    func wantsEntries() async throws -> Bool {
        try await database.read { try DevicesStore($0).hasDevices() }
    }

    /// True if one of the people to notify has a device that can be notified.
    func needsWrite(for entries: [LogEntry]) async throws -> Bool {
        let people = Set(entries.compactMap(PushEvent.init).flatMap(\.people))
        guard !people.isEmpty else { return false }
        return try await database.read { [plan] in
            try DevicesStore($0).isAnyReachable(of: Array(people), at: plan().now)
        }
    }

    func take(_ entries: [LogEntry], on connection: any Connection) throws {
        let (plan, events) = (plan(), entries.compactMap(PushEvent.init))
        let people = Set(events.flatMap(\.people))
        let devices = people.isEmpty ? [:] : try DevicesStore(connection).devices(of: Array(people), at: plan.now)
        for event in events {
            for person in event.people {
                for device in devices[person] ?? [] {
                    let job =
                        switch event {
                        case .message(let message): plan.alert(message, to: device.token, of: person)
                        case .badges: plan.badge(to: device.token, of: person, lastSentAt: device.badgeSentAt)
                        }
                    try JobsStore(connection).insert(job, for: device)
                }
            }
        }
    }

    func taken() { onJobs() }
}
