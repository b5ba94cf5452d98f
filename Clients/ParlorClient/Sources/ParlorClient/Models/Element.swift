import Foundation

/// An item on a room's board.
public struct Element: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var roomID: String
    /// `note`, `image`, `link`, or an app's own type: `[a-z][a-z0-9_-]{0,31}`.
    public var type: String
    /// A JSON object of at most 64 KiB, in a format of the app's own.
    public var content: JSON
    /// False if ``content`` lacks members that Foundation cannot decode, such as the number 1e400. The element can be
    /// moved and deleted, but ``Board/edit(_:content:)`` does nothing, as it would remove these members for everyone.
    public var isContentWhole = true
    /// The place on the board; nil if it has none.
    public var position: Position?
    public var createdBy: String
    public var createdAt: Date
    public var updatedBy: String
    public var updatedAt: Date
    /// 1 for a new element; it rises by one with each change.
    public var version: Int
    /// The id that the creator's client gave the element before it was stored.
    public var tempID: String?

    /// A point on a board, in units of the app's own.
    public struct Position: Codable, Hashable, Sendable {
        public var x: Double
        public var y: Double

        public init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }
    }

    public init(
        id: String, roomID: String, type: String, content: JSON, position: Position? = nil, createdBy: String,
        createdAt: Date, updatedBy: String, updatedAt: Date, version: Int, tempID: String? = nil
    ) {
        self.id = id
        self.roomID = roomID
        self.type = type
        self.content = content
        self.position = position
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.updatedBy = updatedBy
        self.updatedAt = updatedAt
        self.version = version
        self.tempID = tempID
    }
}
