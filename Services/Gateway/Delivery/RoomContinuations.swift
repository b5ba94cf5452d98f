import ParlorEventLog

/// The positions from which rooms continue when a socket that sent a cursor joins them: the position of the last
/// `sync:done`, or the one at which the socket left the room since.
///
/// A socket may leave any number of rooms. When it leaves more than `maxRooms` without joining them again, all
/// positions are dropped. Its next join is then not caught up: the socket gets another `sync:done`, with
/// `recovered: false`.
struct RoomContinuations {
    /// The limit of rooms. A position in each of four logs takes about half a kilobyte.
    static let maxRooms = 256

    /// The position of `sync:done`; nil once the positions are dropped.
    private var start: SyncCursor?
    private var left: [String: SyncCursor] = [:]

    init(from start: SyncCursor) { self.start = start }

    /// The number of rooms with a position of their own.
    var count: Int { left.count }

    /// Returns the position from which a room continues; nil if it was dropped.
    func cursor(of roomID: String) -> SyncCursor? { left[roomID] ?? start }

    /// Notes the position at which the socket left a room.
    mutating func leave(_ roomID: String, at cursor: SyncCursor) {
        if left.count >= Self.maxRooms { (left, start) = ([:], nil) }
        if start != nil { left[roomID] = cursor }
    }

    /// Notes that the socket has joined a room: its events are live.
    mutating func join(_ roomID: String) { left[roomID] = nil }
}
