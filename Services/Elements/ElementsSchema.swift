import ParlorStorage

/// The migrations of this service's tables.
enum ElementsSchema {
    static let migrations = [
        Migration(
            version: 1, name: "boards, elements and who has seen them",
            sql: """
                CREATE TABLE boards (
                    room_id TEXT PRIMARY KEY,
                    element_count INTEGER NOT NULL,
                    rev INTEGER NOT NULL,
                    changed_at INTEGER NOT NULL
                );
                CREATE TABLE elements (
                    id TEXT PRIMARY KEY,
                    room_id TEXT NOT NULL,
                    rank INTEGER NOT NULL,
                    type TEXT NOT NULL,
                    content TEXT NOT NULL,
                    position TEXT,
                    created_by TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    updated_by TEXT NOT NULL,
                    updated_at INTEGER NOT NULL,
                    version INTEGER NOT NULL,
                    temp_id TEXT
                );
                CREATE UNIQUE INDEX elements_by_rank ON elements (room_id, rank);
                CREATE TABLE temp_ids (
                    room_id TEXT NOT NULL,
                    sender_id TEXT NOT NULL,
                    temp_id TEXT NOT NULL,
                    element_id TEXT NOT NULL,
                    PRIMARY KEY (room_id, sender_id, temp_id)
                );
                CREATE TABLE unseen (
                    room_id TEXT NOT NULL,
                    user_id TEXT NOT NULL,
                    count INTEGER NOT NULL,
                    PRIMARY KEY (room_id, user_id)
                );
                CREATE TABLE open_rooms (
                    room_id TEXT NOT NULL,
                    user_id TEXT NOT NULL,
                    gateway TEXT NOT NULL,
                    PRIMARY KEY (room_id, user_id, gateway)
                );
                CREATE INDEX open_rooms_by_gateway ON open_rooms (gateway)
                """),
        // Records each unseen element, so that `unseen` can be recounted. It cannot be recounted from `elements`, which
        // lacks those that were deleted unseen. The ranks of the elements that `unseen` already counts are unknown, so
        // this inserts ranks that no element has: 0 and below.
        Migration(
            version: 2, name: "which elements are unseen",
            sql: """
                CREATE TABLE unseen_elements (
                    room_id TEXT NOT NULL,
                    user_id TEXT NOT NULL,
                    rank INTEGER NOT NULL,
                    PRIMARY KEY (room_id, user_id, rank)
                );
                INSERT INTO unseen_elements (room_id, user_id, rank)
                WITH RECURSIVE earlier (room_id, user_id, number) AS (
                    SELECT room_id, user_id, count FROM unseen WHERE count > 0
                    UNION ALL SELECT room_id, user_id, number - 1 FROM earlier WHERE number > 1
                )
                SELECT room_id, user_id, 1 - number FROM earlier
                """),
        // For existing elements, characters stand for bytes: close enough, and both engines have a function
        // for it.
        Migration(
            version: 3, name: "how much lies on a board",
            sql: """
                ALTER TABLE elements ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE boards ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
                UPDATE elements SET size = length(content) + 512;
                UPDATE boards SET bytes = (
                    SELECT coalesce(sum(size), 0) FROM elements WHERE elements.room_id = boards.room_id)
                """),
        // For existing elements, it is unknown who has enlarged them.
        Migration(
            version: 4, name: "how much of all boards is whose",
            sql: """
                ALTER TABLE elements ADD COLUMN charged_to TEXT NOT NULL DEFAULT '';
                UPDATE elements SET charged_to = created_by;
                CREATE TABLE people (
                    user_id TEXT PRIMARY KEY,
                    element_count INTEGER NOT NULL,
                    bytes INTEGER NOT NULL
                );
                INSERT INTO people (user_id, element_count, bytes)
                SELECT charged_to, count(*), sum(size) FROM elements GROUP BY charged_to
                """),
    ]
}
