import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL of devices, in the transaction of a connection.
struct DevicesStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    private var jobs: JobsStore { JobsStore(connection) }

    /// Adds a device, or records that it was registered again, which ends a quarantine.
    ///
    /// - Parameter sessionID: the session whose end removes it; nil if the caller's token names none.
    /// - Returns: true if it did not belong to this person before.
    func register(_ device: Device, in sessionID: String? = nil) throws -> Bool {
        let owner = try connection.first("SELECT user_id FROM devices WHERE token = $1", device.token.text) {
            $0.text(0)
        }
        // One silent update of a device waits at a time: the last owner's would stand in for the new owner's.
        if owner != nil, owner != device.userID { try jobs.removeAll(for: device.token.text) }
        try connection.executeLater(
            """
            INSERT INTO devices (
                token, user_id, platform, environment, registered_at, quarantined_until, badge_sent_at, session_id)
            VALUES ($1, $2, $3, $4, $5, 0, 0, $6)
            ON CONFLICT (token) DO UPDATE SET user_id = $2, platform = $3, environment = $4, registered_at = $5,
                quarantined_until = 0, session_id = $6
            """, device.token.text, device.userID, Device.platform, device.environment.rawValue,
            device.registeredAt.milliseconds, sessionID ?? "")
        try jobs.move(for: device.token.text, to: device.environment)
        guard owner != device.userID else { return false }
        let surplus = try connection.all(
            """
            SELECT token FROM devices WHERE user_id = $1 AND token <> $2
            ORDER BY registered_at DESC, token LIMIT 1000 OFFSET $3
            """, device.userID, device.token.text, Device.maxPerPerson - 1
        ) { $0.text(0) }
        for token in surplus { try remove(token) }
        return true
    }

    func remove(_ token: String, of userID: String) throws {
        let isTheirs = try connection.exists(
            "SELECT 1 FROM devices WHERE token = $1 AND user_id = $2", token, userID)
        if isTheirs { try remove(token) }
    }

    /// Removes the devices that were last registered in one of these sessions.
    func removeAll(ofSessions ids: [String]) throws {
        let tokens = try connection.all(
            """
            SELECT token FROM devices
            WHERE session_id <> '' AND session_id IN (SELECT value FROM json_each($1))
            """, SQLValue.list(ids)
        ) { $0.text(0) }
        for token in tokens { try remove(token) }
    }

    /// Returns a page of the sessions that have devices, in the order of their ids, after this one.
    func sessions(after id: String, limit: Int) throws -> [String] {
        try connection.all(
            """
            SELECT DISTINCT session_id FROM devices
            WHERE session_id <> '' AND session_id > $1 ORDER BY session_id LIMIT $2
            """, id, limit
        ) { $0.text(0) }
    }

    /// Removes a device whose token was invalid at that time, as its provider reports. A device that has been
    /// registered again after that time is kept.
    func remove(_ token: String, goneSince time: Timestamp) throws {
        let isGone = try connection.exists(
            "SELECT 1 FROM devices WHERE token = $1 AND registered_at <= $2", token, time.milliseconds)
        if isGone { try remove(token) }
    }

    private func remove(_ token: String) throws {
        try jobs.removeAll(for: token)
        try connection.executeLater("DELETE FROM devices WHERE token = $1", token)
    }

    /// Sends nothing more to a device until then, or until it is registered again. Does nothing if it was
    /// registered again since the attempt.
    ///
    /// - Parameter provider: the identity of the provider that rejected its token.
    func quarantine(_ device: Device, until time: Timestamp, by provider: String) throws {
        let count = try connection.execute(
            """
            UPDATE devices SET quarantined_until = $2, quarantined_by = $4 WHERE token = $1 AND registered_at = $3
            """, device.token.text, time.milliseconds, device.registeredAt.milliseconds, provider)
        if count > 0 { try jobs.removeAll(for: device.token.text) }
    }

    /// Ends the quarantines of other providers, as this provider may accept their tokens.
    func endQuarantines(except provider: String) throws {
        try connection.executeLater(
            "UPDATE devices SET quarantined_until = 0 WHERE quarantined_until > 0 AND quarantined_by <> $1", provider)
    }

    /// Delays a device's jobs until then: those that wait, and those to come. A later time that was set before stays.
    func rest(_ token: String, until time: Timestamp) throws {
        try connection.executeLater(
            "UPDATE devices SET rests_until = $2 WHERE token = $1 AND rests_until < $2", token, time.milliseconds)
        try jobs.postpone(for: token, until: time)
    }

    func noteBadge(of token: String, at time: Timestamp) throws {
        try connection.executeLater(
            "UPDATE devices SET badge_sent_at = $2 WHERE token = $1", token, time.milliseconds)
    }

    /// Returns true if anybody has a device.
    func hasDevices() throws -> Bool {
        try connection.exists("SELECT 1 FROM devices LIMIT 1")
    }

    /// Returns true if any of these people has a device that can be notified.
    func isAnyReachable(of userIDs: [String], at now: Timestamp) throws -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM devices
            WHERE user_id IN (SELECT value FROM json_each($1)) AND quarantined_until <= $2
            LIMIT 1
            """, SQLValue.list(userIDs), now.milliseconds)
    }

    /// Returns the devices of these people that can be notified, by person.
    func devices(of userIDs: [String], at now: Timestamp) throws -> [String: [Reachable]] {
        var found: [String: [Reachable]] = [:]
        try connection.query(
            """
            SELECT user_id, token, environment, badge_sent_at, rests_until FROM devices
            WHERE user_id IN (SELECT value FROM json_each($1)) AND quarantined_until <= $2
            """, SQLValue.list(userIDs), now.milliseconds
        ) { found[$0.text(0), default: []].append(($0.text(1), $0.text(2), $0.time(3), $0.time(4))) }
        return found
    }

    typealias Reachable = (token: String, environment: String, badgeSentAt: Timestamp, restsUntil: Timestamp)
}
