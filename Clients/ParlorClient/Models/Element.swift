import Foundation

/// An item on a room's board.
public struct Element: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var roomId: String
    /// `note`, `image`, `link`, or an app's own type: `[a-z][a-z0-9_-]{0,31}`.
    public var type: String
    public var content: JSON
    public var position: Position?
    public var createdBy: String
    public var createdAt: Date
    public var updatedBy: String
    public var updatedAt: Date
    public var version: Int
    public var tempId: String?

    public struct Position: Codable, Hashable, Sendable {
        public var x: Double
        public var y: Double

        public init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }
    }

    public init(
        id: String, roomId: String, type: String, content: JSON, position: Position? = nil, createdBy: String,
        createdAt: Date, updatedBy: String, updatedAt: Date, version: Int, tempId: String? = nil
    ) {
        self.id = id
        self.roomId = roomId
        self.type = type
        self.content = content
        self.position = position
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.updatedBy = updatedBy
        self.updatedAt = updatedAt
        self.version = version
        self.tempId = tempId
    }
}
