/// A person in a room, to which presence and typing refer.
package struct RoomMember: Hashable, Sendable {
    package let roomID: String
    package let userID: String

    package init(roomID: String, userID: String) {
        self.roomID = roomID
        self.userID = userID
    }
}

extension Presence {
    package enum Kind: String, Sendable, CaseIterable { case presence, typing }

    /// The state that a person has a room open, or types in it.
    package struct Entry: Hashable, Sendable {
        package let kind: Kind
        package let member: RoomMember
    }

    /// A change for clients: a person opened or closed the room, or began or stopped typing.
    package struct Change: Sendable {
        package let entry: Entry
        package let isOn: Bool

        package var kind: Kind { entry.kind }
        package var member: RoomMember { entry.member }
    }
}
