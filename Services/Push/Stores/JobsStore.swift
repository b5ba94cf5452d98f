import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL of jobs and of the leases with which they are claimed, in the transaction of a connection.
struct JobsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// Returns the next time at which there is work: a job is due in an environment, or a lease ends. nil if
    /// nothing waits.
    ///
    /// - Parameter own: the leases that are known to be alive.
    func nextDue(in environment: Device.Environment, besides own: [String] = []) throws -> Timestamp? {
        let due =
            try connection.first(
                "SELECT min(due_at) FROM jobs WHERE lease IS NULL AND environment = $1", environment.rawValue
            ) { $0.intOrNil(0) } ?? nil
        let lease =
            try connection.first(
                """
                SELECT min(alive_until) FROM leases
                WHERE EXISTS (SELECT 1 FROM jobs WHERE lease = leases.id)
                    AND id NOT IN (SELECT value FROM json_each($1))
                """, SQLValue.list(own)
            ) { $0.intOrNil(0) } ?? nil
        return [due, lease].compactMap { $0 }.min().map { Timestamp(milliseconds: $0) }
    }

    // MARK: Leases

    /// Releases the jobs of expired leases.
    ///
    /// - Parameter own: the leases that are known to be alive, however late they are renewed.
    func releaseExpired(at now: Timestamp, besides own: [String] = []) throws {
        // Shorten leases that end later than a new one would: the clock was ahead when they were written.
        try connection.executeLater(
            "UPDATE leases SET alive_until = $1 WHERE alive_until > $1", now.adding(Lease.length).milliseconds)
        let expired = try connection.all(
            "SELECT id FROM leases WHERE alive_until <= $1 AND id NOT IN (SELECT value FROM json_each($2))",
            now.milliseconds, SQLValue.list(own)
        ) { $0.text(0) }
        if !expired.isEmpty { try release(expired) }
    }

    /// Releases the jobs of these leases.
    func release(_ leases: [String]) throws {
        try connection.executeLater(
            "UPDATE jobs SET lease = NULL WHERE lease IN (SELECT value FROM json_each($1))", SQLValue.list(leases))
        try connection.executeLater(
            "DELETE FROM leases WHERE id IN (SELECT value FROM json_each($1))", SQLValue.list(leases))
    }

    /// Renews these leases. Those that others have ended meanwhile stay ended.
    func renew(_ leases: [String], at now: Timestamp) throws {
        try connection.executeLater(
            "UPDATE leases SET alive_until = $2 WHERE id IN (SELECT value FROM json_each($1))",
            SQLValue.list(leases), now.adding(Lease.length).milliseconds)
    }

    // MARK: Claiming

    /// Claims due jobs of an environment under a new lease, those that have been due longest first. Jobs are removed if
    /// their device is gone, is quarantined, or belongs to another person.
    func claim(
        _ limit: Int, in environment: Device.Environment, by lease: String, at now: Timestamp
    ) throws -> [Claim] {
        let end = now.adding(Lease.length)
        // A silent update without a result may have been sent at any time up to the lease's end.
        let taken = try connection.all(
            """
            UPDATE jobs SET lease = $1, due_at = CASE WHEN message_id = '' THEN $2 ELSE due_at END
            WHERE id IN (
                SELECT id FROM jobs WHERE lease IS NULL AND environment = $3 AND due_at <= $4
                ORDER BY due_at LIMIT $5)
            RETURNING id
            """, lease, end.adding(JobPlan.badgeInterval).milliseconds, environment.rawValue, now.milliseconds, limit
        ) { $0.text(0) }
        guard !taken.isEmpty else { return [] }
        try connection.executeLater("INSERT INTO leases (id, alive_until) VALUES ($1, $2)", lease, end.milliseconds)
        let claims = try claims(taken, by: lease, at: now)
        let vain = Set(taken).subtracting(claims.map(\.job.id))
        if !vain.isEmpty {
            try connection.executeLater(
                "DELETE FROM jobs WHERE id IN (SELECT value FROM json_each($1))", SQLValue.list(vain))
        }
        return claims
    }

    /// Returns those of these jobs that are held by a lease and whose device still belongs to the person and
    /// can be notified.
    func claims(_ ids: [String], by lease: String, at now: Timestamp) throws -> [Claim] {
        try connection.all(
            """
            SELECT jobs.id, jobs.token, jobs.user_id, message_id, room_id, log_seq, sender_name, sent_at, due_at,
                attempts, revision, lease, devices.environment, registered_at
            FROM jobs JOIN devices ON devices.token = jobs.token AND devices.user_id = jobs.user_id
            WHERE jobs.id IN (SELECT value FROM json_each($1)) AND lease = $2 AND quarantined_until <= $3
            ORDER BY due_at, jobs.id
            """, SQLValue.list(ids), lease, now.milliseconds, body: Self.claim)
    }

    private static func claim(_ row: Row) -> Claim {
        let job = Job(
            id: row.text(0), token: row.text(1), userID: row.text(2), messageID: row.text(3), roomID: row.text(4),
            logSeq: row.int(5), senderName: row.text(6), sentAt: row.time(7), dueAt: row.time(8))
        let device = Device(
            token: DeviceToken(stored: job.token), userID: job.userID,
            // Stored from an `Environment`.
            environment: Device.Environment(rawValue: row.text(12)) ?? .production, registeredAt: row.time(13))
        return Claim(job: job, device: device, attempts: row.int(9), revision: row.int(10), lease: row.text(11))
    }

    // MARK: The end

    /// Stores the result of a job, if it is still held by the claim's lease, and in any case what was learned
    /// about its device.
    func record(_ result: JobResult, at now: Timestamp) throws {
        let (job, lease) = (result.claim.job, result.claim.lease)
        switch result.end {
        case .done:
            let removed = try connection.execute(
                "DELETE FROM jobs WHERE id = $1 AND lease = $2 AND (revision = $3 OR message_id <> '')", job.id, lease,
                result.claim.revision)
            if removed == 0 {
                // It is a silent update, and the person has read more since the claim. If the lease has ended instead,
                // this changes nothing.
                try putBack(
                    job.id, lease, at: (result.badgeSentAt ?? now).adding(JobPlan.badgeInterval))
            }
        case .later(let time, let countsAsAttempt, let isWatching):
            try connection.executeLater(
                """
                UPDATE jobs SET lease = NULL, due_at = $3, attempts = attempts + $4, is_watching = $5
                WHERE id = $1 AND lease = $2
                """, job.id, lease, time.milliseconds, countsAsAttempt, isWatching)
        }
        let devices = DevicesStore(connection)
        if let time = result.badgeSentAt { try devices.noteBadge(of: job.token, at: time) }
        if let time = result.deviceRestsUntil { try devices.rest(job.token, until: time) }
        if let time = result.deviceGoneSince { try devices.remove(job.token, goneSince: time) }
        if let (time, provider) = result.quarantine {
            try devices.quarantine(result.claim.device, until: time, by: provider)
        }
    }

    private func putBack(_ id: String, _ lease: String, at time: Timestamp) throws {
        try connection.executeLater(
            "UPDATE jobs SET lease = NULL, due_at = $3, attempts = 0 WHERE id = $1 AND lease = $2", id, lease,
            time.milliseconds)
    }

    /// Removes some of the jobs that are not worth sending any more, whatever delays them.
    ///
    /// - Returns: the number of removed jobs; less than the limit if there are no more.
    func removeExpired(_ limit: Int, at now: Timestamp) throws -> Int {
        try connection.execute(
            """
            DELETE FROM jobs WHERE id IN (
                SELECT id FROM jobs WHERE sent_at < $1 AND lease IS NULL ORDER BY sent_at LIMIT $2)
            """, JobPlan.horizon(at: now).milliseconds, limit)
    }

    // MARK: The jobs of one device

    /// Inserts a job. A device is notified of a message once. A silent update is not inserted again while an
    /// earlier one waits. If the earlier one is being sent, it is sent once more afterwards.
    func insert(_ job: Job, for device: DevicesStore.Reachable) throws {
        try connection.executeLater(
            """
            INSERT INTO jobs (
                id, token, user_id, message_id, room_id, log_seq, sender_name, sent_at, due_at, environment,
                attempts, is_watching, revision)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, 0)
            ON CONFLICT (token, message_id) DO UPDATE SET revision = jobs.revision + 1, sent_at = excluded.sent_at
            """, job.id, job.token, job.userID, job.messageID, job.roomID, job.logSeq, job.senderName,
            job.sentAt.milliseconds, max(job.dueAt, device.restsUntil).milliseconds, device.environment)
    }

    func removeAll(for token: String) throws {
        try connection.executeLater("DELETE FROM jobs WHERE token = $1", token)
    }

    /// Moves the device's jobs to an environment.
    func move(for token: String, to environment: Device.Environment) throws {
        try connection.executeLater(
            "UPDATE jobs SET environment = $2 WHERE token = $1 AND environment <> $2", token, environment.rawValue)
    }

    /// Makes all waiting jobs of the device due no earlier than this time.
    func postpone(for token: String, until time: Timestamp) throws {
        try connection.executeLater(
            "UPDATE jobs SET due_at = $2 WHERE token = $1 AND lease IS NULL AND due_at < $2", token,
            time.milliseconds)
    }

    // MARK: Counting

    func counts() throws -> JobCounts {
        var counts = JobCounts()
        try connection.query(
            """
            SELECT CASE WHEN is_watching = 1 THEN 'watching' WHEN attempts > 0 THEN 'retrying' ELSE 'held' END AS state,
                count(*)
            FROM jobs WHERE lease IS NULL GROUP BY state
            """
        ) { row in
            switch row.text(0) {
            case "watching": counts.watching = row.int(1)
            case "retrying": counts.retrying = row.int(1)
            default: counts.held = row.int(1)
            }
        }
        counts.sending = try connection.first("SELECT count(*) FROM jobs WHERE lease IS NOT NULL") { $0.int(0) } ?? 0
        let oldest = try connection.first("SELECT min(sent_at) FROM jobs") { $0.intOrNil(0) } ?? nil
        counts.oldest = oldest.map { Timestamp(milliseconds: $0) }
        return counts
    }
}
