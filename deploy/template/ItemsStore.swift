import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL of items, in the transaction of a connection.
struct ItemsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    static let migrations = [
        Migration(
            version: 1, name: "items",
            sql: """
                CREATE TABLE items (
                    room_id TEXT NOT NULL,
                    id TEXT NOT NULL,
                    text TEXT NOT NULL,
                    created_by TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    PRIMARY KEY (room_id, id)
                )
                """)
    ]

    func insert(_ item: Item, in roomID: String) throws {
        try connection.execute(
            "INSERT INTO items (room_id, id, text, created_by, created_at) VALUES ($1, $2, $3, $4, $5)",
            roomID, item.id, item.text, item.createdBy, item.createdAt.milliseconds)
    }

    /// Returns a room's items in the order of their ids, which is that of their times.
    func items(of roomID: String, after id: String, limit: Int) throws -> [Item] {
        try connection.all(
            """
            SELECT id, text, created_by, created_at FROM items WHERE room_id = $1 AND id > $2
            ORDER BY id LIMIT $3
            """, roomID, id, limit
        ) { Item(id: $0.text(0), text: $0.text(1), createdBy: $0.text(2), createdAt: $0.time(3)) }
    }
}
