/// The requests of lists of rooms.
///
/// Every call throws `ClientFailure` or `CancellationError`.
public protocol RoomServer: Sendable {
    func rooms(sortedBy order: RoomOrder) async throws -> RoomListing
    func room(_ id: String) async throws -> RoomAnswer
    func peopleWithoutRooms(matching prefix: String?, limit: Int?, cursor: String?) async throws -> Page<Person>
    /// - Parameter requestID: a repeated one creates no second room.
    func makeRoom(with userID: String, name: String?, requestID: String) async throws -> RoomAnswer
    /// Renames a room. An empty name removes the name.
    func rename(_ roomID: String, to name: String) async throws -> RoomAnswer
}
