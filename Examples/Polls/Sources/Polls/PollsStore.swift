import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

/// The SQL of polls and votes, in the transaction of a connection.
struct PollsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// Inserts a poll, unless the room has `limit` polls already.
    ///
    /// - Returns: false if nothing was inserted.
    func insert(_ poll: Poll, in roomID: String, upTo limit: Int) throws -> Bool {
        let choices = JSONWriter.value { json in json.array(of: poll.choices) { $0.string($1) } }
        return try connection.execute(
            """
            INSERT INTO polls (id, room_id, question, choices, created_by, created_at, message_id)
            SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) FROM polls WHERE room_id = $2) < $8
            """, poll.id, roomID, poll.question, choices.text, poll.createdBy, poll.createdAt.milliseconds,
            poll.messageID, limit) == 1
    }

    func vote(for choice: Int, in pollID: String, by userID: String) throws {
        try connection.execute(
            """
            INSERT INTO votes (poll_id, user_id, choice) VALUES ($1, $2, $3)
            ON CONFLICT (poll_id, user_id) DO UPDATE SET choice = excluded.choice
            """, pollID, userID, choice)
    }

    func poll(_ id: String, in roomID: String) throws -> Poll? { try polls(of: roomID, only: id).first }

    /// Returns the polls of a room, oldest first: all of them, or one.
    func polls(of roomID: String, only id: String? = nil) throws -> [Poll] {
        var votes: [String: [Int: Int]] = [:]
        try connection.query(
            """
            SELECT poll_id, choice, count(*) FROM votes JOIN polls ON polls.id = poll_id
            WHERE room_id = $1 AND ($2 = '' OR poll_id = $2) GROUP BY poll_id, choice
            """, roomID, id ?? ""
        ) { votes[$0.text(0), default: [:]][$0.int(1)] = $0.int(2) }
        return try connection.all(
            """
            SELECT id, question, choices, created_by, created_at, message_id FROM polls
            WHERE room_id = $1 AND ($2 = '' OR id = $2) ORDER BY id
            """, roomID, id ?? ""
        ) { row in
            let choices = row.json(2).array?.compactMap(\.string) ?? []
            return Poll(
                id: row.text(0), question: row.text(1), choices: choices,
                votes: choices.indices.map { votes[row.text(0)]?[$0] ?? 0 }, createdBy: row.text(3),
                createdAt: row.time(4), messageID: row.textOrNil(5))
        }
    }

    /// Returns the newest poll about each of those messages that have one, by message.
    func newest(about messageIDs: [String]) throws -> [String: PollOfMessage] {
        var newest: [String: PollOfMessage] = [:]
        try connection.query(
            """
            SELECT message_id, id, question, (SELECT count(*) FROM votes WHERE poll_id = polls.id) FROM polls
            WHERE id IN (
                SELECT max(id) FROM polls WHERE message_id IN (SELECT value FROM json_each($1)) GROUP BY message_id)
            """, SQLValue.list(messageIDs)
        ) { newest[$0.text(0)] = PollOfMessage(id: $0.text(1), question: $0.text(2), votes: $0.int(3)) }
        return newest
    }

    /// Returns the summaries of those rooms that have polls, by room.
    func summaries(of roomIDs: [String], for userID: String) throws -> [String: PollsSummary] {
        var summaries: [String: PollsSummary] = [:]
        try connection.query(
            """
            SELECT room_id, count(*), sum(CASE WHEN created_by <> $1 AND votes.user_id IS NULL THEN 1 ELSE 0 END)
            FROM polls LEFT JOIN votes ON votes.poll_id = polls.id AND votes.user_id = $1
            WHERE room_id IN (SELECT value FROM json_each($2)) GROUP BY room_id
            """, userID, SQLValue.list(roomIDs)
        ) { summaries[$0.text(0)] = PollsSummary(count: $0.int(1), unanswered: $0.int(2)) }
        return summaries
    }

    func rooms(withMostPolls limit: Int) throws -> [(roomID: String, polls: Int, votes: Int)] {
        try connection.all(
            """
            SELECT room_id, count(DISTINCT polls.id) AS number, count(votes.user_id)
            FROM polls LEFT JOIN votes ON votes.poll_id = polls.id GROUP BY room_id
            ORDER BY number DESC, room_id LIMIT $1
            """, limit
        ) { ($0.text(0), $0.int(1), $0.int(2)) }
    }
}

/// The migrations of this service's tables.
enum PollsSchema {
    static let migrations = [
        Migration(
            version: 1, name: "polls and votes",
            sql: """
                CREATE TABLE polls (
                    id TEXT PRIMARY KEY,
                    room_id TEXT NOT NULL,
                    question TEXT NOT NULL,
                    choices TEXT NOT NULL,
                    created_by TEXT NOT NULL,
                    created_at INTEGER NOT NULL
                );
                CREATE TABLE votes (
                    poll_id TEXT NOT NULL,
                    user_id TEXT NOT NULL,
                    choice INTEGER NOT NULL,
                    PRIMARY KEY (poll_id, user_id)
                )
                """),
        // Every list of rooms asks for the polls of each room.
        Migration(version: 2, name: "polls by room", sql: "CREATE INDEX polls_by_room ON polls (room_id, id)"),
        Migration(
            version: 3, name: "polls about messages",
            sql: """
                ALTER TABLE polls ADD COLUMN message_id TEXT;
                CREATE INDEX polls_by_message ON polls (message_id, id) WHERE message_id IS NOT NULL
                """),
    ]
}
