/// The requests of a ``RoomList``. ``ServerConnection`` sends them for a ``RoomsClient``.
///
/// The calls throw `ClientFailure` or `CancellationError`.
package protocol RoomServer: Sendable {
    /// Returns all rooms of the person.
    func rooms(sortedBy order: RoomOrder) async throws -> RoomListing

    /// Returns one room of the person. The server refuses any other with `room_not_found`.
    func room(_ id: String) async throws -> RoomAnswer

    /// Returns a page of the people who share no room with the person, sorted by username.
    ///
    /// - Parameter prefix: the beginning of the username or the first name; nil for everyone.
    func peopleWithoutRooms(matching prefix: String?, limit: Int?, cursor: String?) async throws -> Page<Person>

    /// Creates a direct room.
    ///
    /// - Parameter requestID: a repeat with the same id creates no second room.
    func makeRoom(with userID: String, name: String?, requestID: String) async throws -> RoomAnswer

    /// Creates a group.
    ///
    /// - Parameter requestID: a repeat with the same id creates no second group.
    func makeGroup(with userIDs: [String], name: String?, requestID: String) async throws -> RoomAnswer

    /// Adds people to a group.
    func addPeople(_ userIDs: [String], to roomID: String) async throws -> RoomAnswer

    /// Removes a person from a group; the signed-in person leaves it.
    func removePerson(_ userID: String, from roomID: String) async throws

    /// Gives a person in a group another role.
    func setRole(_ role: Room.Participant.Role, of userID: String, in roomID: String) async throws -> RoomAnswer

    /// Renames a room. An empty name removes the name.
    func rename(_ roomID: String, to name: String) async throws -> RoomAnswer
}
