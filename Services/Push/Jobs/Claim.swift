import Contracts

/// A job that was taken, and the device as it was then.
struct Claim: Sendable {
    let job: Job
    let device: Device
    let attempts: Int
    /// Rises when there is something new to send meanwhile.
    let revision: Int
    /// By which it was taken. It is another one each time: what comes of an earlier attempt settles no later one.
    let lease: String
}

/// The end of a job that was taken.
enum JobEnd: Sendable {
    /// It was sent, or is not worth it.
    case done
    /// It is looked at again then.
    case later(Timestamp, countsAsAttempt: Bool, isWatching: Bool)
}

/// The result of work on a job, to be stored.
struct JobResult: Sendable {
    let claim: Claim
    var end: JobEnd
    /// Until when the device's other jobs wait, too.
    var deviceRestsUntil: Timestamp?
    var deviceGoneSince: Timestamp?
    var quarantine: (until: Timestamp, by: String)?
    var badgeSentAt: Timestamp?
}

/// The number of jobs in each state.
struct JobCounts: Sendable, Equatable {
    var held = 0
    var watching = 0
    var retrying = 0
    var sending = 0
    /// When the oldest message that waits was sent.
    var oldest: Timestamp?
}

/// For how long what was taken is whose who took it, unless it is renewed.
enum Lease {
    /// Long enough for a write that waits for a slow disk.
    static let length: Duration = .seconds(10)
}
