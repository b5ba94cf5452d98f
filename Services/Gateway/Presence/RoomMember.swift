/// A person in a room: what presence and typing are noted for.
package struct RoomMember: Hashable, Sendable {
    package let roomID: String
    package let userID: String

    package init(roomID: String, userID: String) {
        self.roomID = roomID
        self.userID = userID
    }
}
