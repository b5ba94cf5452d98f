import Contracts
import EventLog
import Storage

/// The events that an instance read in messaging's log after a position, and the position up to
/// which they are complete.
struct EntryBatch: Sendable {
    let start: LogPosition
    let end: LogPosition
    /// The events, each with the position of its entry.
    let events: [(seq: Int, event: PushEvent)]
}

/// The SQL of this service's positions in logs, in the transaction of a connection.
struct CursorsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    func cursor(of stream: String) throws -> LogPosition? {
        try connection.first("SELECT database_id, seq, digest FROM cursors WHERE stream = $1", stream) {
            LogPosition(databaseID: $0.text(0), seq: $0.int(1), digest: $0.int(2))
        }
    }

    /// Starts at a position, unless another instance has moved on from the known one meanwhile.
    ///
    /// - Parameter known: the known position; nil before the first start.
    /// - Returns: the position of the cursor.
    func restart(_ stream: String, at position: LogPosition, after known: LogPosition?) throws -> LogPosition {
        let stored = try cursor(of: stream)
        if let stored, stored.databaseID != known?.databaseID || stored.seq > known?.seq ?? 0 { return stored }
        try setCursor(of: stream, position)
        return position
    }

    /// Creates the jobs of a batch and moves the cursor to its end, except for the part that another instance
    /// has done.
    ///
    /// - Returns: the new position of the cursor.
    func follow(_ stream: String, _ batch: EntryBatch, _ plan: JobPlan) throws -> LogPosition {
        guard let stored = try cursor(of: stream), stored.databaseID == batch.end.databaseID else {
            return try cursor(of: stream) ?? batch.start
        }
        guard stored.seq < batch.end.seq else { return stored }
        let events = batch.events.filter { $0.seq > stored.seq }.map(\.event)
        let people = Set(events.flatMap(\.people))
        let devices = people.isEmpty ? [:] : try DevicesStore(connection).devices(of: Array(people), at: plan.now)
        for event in events {
            for person in event.people {
                for device in devices[person] ?? [] {
                    let job =
                        switch event {
                        case .message(let message): plan.alert(message, to: device.token, of: person)
                        case .reading: plan.badge(to: device.token, of: person, lastSentAt: device.badgeSentAt)
                        }
                    try JobsStore(connection).insert(job, for: device)
                }
            }
        }
        try setCursor(of: stream, batch.end)
        return batch.end
    }

    private func setCursor(of stream: String, _ position: LogPosition) throws {
        try connection.execute(
            """
            INSERT INTO cursors (stream, database_id, seq, digest) VALUES ($1, $2, $3, $4)
            ON CONFLICT (stream) DO UPDATE SET database_id = $2, seq = $3, digest = $4
            """, stream, position.databaseID, position.seq, position.digest)
    }
}

extension PushEvent {
    /// The people to notify.
    var people: [String] {
        switch self {
        case .message(let message): message.recipients
        case .reading(let userID): [userID]
        }
    }
}
