import ParlorContracts

/// A claimed job, and the device's state at that time.
struct Claim: Sendable {
    let job: Job
    let device: Device
    let attempts: Int
    /// The job's revision at the claim. It rises when there is something newer to send.
    let revision: Int
    /// The lease of the claim. It is different each time, so the result of an earlier attempt cannot settle a
    /// later one.
    let lease: String
}

/// The end of work on a claimed job.
enum JobEnd: Sendable {
    /// The job was sent, or is not worth sending.
    case done
    /// The job is checked again at this time.
    case later(Timestamp, countsAsAttempt: Bool, isWatching: Bool)
}

/// The result of work on a job, to be stored.
struct JobResult: Sendable {
    let claim: Claim
    var end: JobEnd
    /// The time until which the device's other jobs wait, too.
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
    /// The time at which the oldest message of a waiting job was sent.
    var oldest: Timestamp?
}

/// The time for which claimed jobs belong to a worker, unless it is renewed.
enum Lease {
    /// The length, enough for a write that waits for a slow disk.
    static let length: Duration = .seconds(10)
}
