import Contracts
import Storage

/// A job that a worker has taken, and the device as it is now.
struct Claim: Sendable {
    let job: Job
    let device: Device
    let attempts: Int
    /// Rises when there is something new to tell meanwhile.
    let revision: Int
}

/// What becomes of a job that was taken.
enum JobEnd: Sendable {
    /// It was sent, or is not worth it.
    case done
    /// It is looked at again then.
    case later(Timestamp, countsAsAttempt: Bool, isWatching: Bool)
}

/// What is written down after a job was worked on.
struct JobResult: Sendable {
    let claim: Claim
    var end: JobEnd
    var deviceGoneSince: Timestamp?
    var quarantineUntil: Timestamp?
    var badgeSentAt: Timestamp?
}

/// How many jobs are in which state.
struct JobCounts: Sendable, Equatable {
    var held = 0
    var watching = 0
    var retrying = 0
    var sending = 0
    /// When the oldest was made.
    var oldest: Timestamp?
}

extension PushDatabase {
    /// When there is something to do next: a job is due, or the lease of a worker ends that has taken some. nil: nothing waits.
    func nextDue() throws -> Timestamp? {
        let due = try connection.first("SELECT min(due_at) FROM jobs WHERE worker IS NULL") { $0.intOrNil(0) } ?? nil
        let lease =
            try connection.first(
                """
                SELECT min(alive_until) FROM workers WHERE EXISTS (SELECT 1 FROM jobs WHERE worker = workers.id)
                """
            ) { $0.intOrNil(0) } ?? nil
        return [due, lease].compactMap { $0 }.min().map { Timestamp(milliseconds: $0) }
    }

    /// Gives back what workers had taken whose lease is over.
    func releaseExpired(at now: Timestamp) throws {
        let dead = try connection.all(
            "DELETE FROM workers WHERE alive_until <= $1 RETURNING id", now.milliseconds
        ) { $0.text(0) }
        for worker in dead { try release(worker) }
    }

    /// Gives back what a worker has taken.
    func release(_ worker: String) throws {
        try connection.execute("UPDATE jobs SET worker = NULL WHERE worker = $1", worker)
        try connection.execute("DELETE FROM workers WHERE id = $1", worker)
    }

    /// A worker lives: what it has taken is its own until then.
    func extendLease(of worker: String, until time: Timestamp) throws {
        try connection.execute(
            """
            INSERT INTO workers (id, alive_until) VALUES ($1, $2)
            ON CONFLICT (id) DO UPDATE SET alive_until = $2
            """, worker, time.milliseconds)
    }

    /// Takes jobs that are due, those first that are so for longest. Those whose device is no more, or another's, are removed.
    func claim(_ limit: Int, for worker: String, at now: Timestamp) throws -> [Claim] {
        let taken = try connection.all(
            """
            UPDATE jobs SET worker = $1
            WHERE id IN (SELECT id FROM jobs WHERE worker IS NULL AND due_at <= $2 ORDER BY due_at LIMIT $3)
            RETURNING id
            """, worker, now.milliseconds, limit
        ) { $0.text(0) }
        guard !taken.isEmpty else { return [] }
        let claims = try connection.all(
            """
            SELECT jobs.id, jobs.token, jobs.user_id, message_id, room_id, log_seq, sender_name, sent_at, made_at,
                due_at, attempts, revision, environment, registered_at
            FROM jobs JOIN devices ON devices.token = jobs.token AND devices.user_id = jobs.user_id
            WHERE jobs.id IN (SELECT value FROM json_each($1)) AND quarantined_until <= $2
            ORDER BY due_at, jobs.id
            """, SQLValue.list(taken), now.milliseconds, body: Self.claim)
        let vain = Set(taken).subtracting(claims.map(\.job.id))
        if !vain.isEmpty {
            try connection.execute(
                "DELETE FROM jobs WHERE id IN (SELECT value FROM json_each($1))", SQLValue.list(vain))
        }
        return claims
    }

    private static func claim(_ row: Row) -> Claim {
        let job = Job(
            id: row.text(0), token: row.text(1), userID: row.text(2), messageID: row.text(3), roomID: row.text(4),
            logSeq: row.int(5), senderName: row.text(6), sentAt: row.time(7), madeAt: row.time(8), dueAt: row.time(9))
        let device = Device(
            token: DeviceToken(stored: job.token), userID: job.userID,
            // Written from one.
            environment: Device.Environment(rawValue: row.text(12)) ?? .production, registeredAt: row.time(13))
        return Claim(job: job, device: device, attempts: row.int(10), revision: row.int(11))
    }

    /// Writes down what became of a job, if it is still this worker's.
    func record(_ result: JobResult, by worker: String, at now: Timestamp) throws {
        let job = result.claim.job
        switch result.end {
        case .done:
            let removed = try connection.execute(
                "DELETE FROM jobs WHERE id = $1 AND worker = $2 AND (revision = $3 OR message_id <> '')", job.id,
                worker, result.claim.revision)
            if removed == 0 {
                try putBack(job.id, worker, at: (result.badgeSentAt ?? now).adding(JobPlan.badgeInterval))
            }
        case .later(let time, let countsAsAttempt, let isWatching):
            try connection.execute(
                """
                UPDATE jobs SET worker = NULL, due_at = $3, attempts = attempts + $4, is_watching = $5
                WHERE id = $1 AND worker = $2
                """, job.id, worker, time.milliseconds, countsAsAttempt, isWatching)
        }
        if let time = result.badgeSentAt { try noteBadge(of: job.token, at: time) }
        if let time = result.deviceGoneSince { try remove(job.token, goneSince: time) }
        if let time = result.quarantineUntil { try quarantine(result.claim.device, until: time) }
    }

    /// There is something newer to tell than what was sent.
    private func putBack(_ id: String, _ worker: String, at time: Timestamp) throws {
        try connection.execute(
            "UPDATE jobs SET worker = NULL, due_at = $3, attempts = 0 WHERE id = $1 AND worker = $2", id, worker,
            time.milliseconds)
    }

    func counts() throws -> JobCounts {
        var counts = JobCounts()
        try connection.query(
            """
            SELECT CASE WHEN worker IS NOT NULL THEN 'sending' WHEN is_watching = 1 THEN 'watching'
                WHEN attempts > 0 THEN 'retrying' ELSE 'held' END AS state, count(*), min(made_at)
            FROM jobs GROUP BY state
            """
        ) { row in
            switch row.text(0) {
            case "sending": counts.sending = row.int(1)
            case "watching": counts.watching = row.int(1)
            case "retrying": counts.retrying = row.int(1)
            default: counts.held = row.int(1)
            }
            counts.oldest = min(counts.oldest ?? row.time(2), row.time(2))
        }
        return counts
    }
}
