import Foundation

/// The caller's rooms.
package struct RoomListing: Equatable, Sendable {
    package var rooms: [Room]
    /// Services that were down. Their fields of these rooms have the last known values, or 0.
    package var degraded: [String]

    package init(rooms: [Room], degraded: [String] = []) {
        self.rooms = rooms
        self.degraded = degraded
    }
}

/// One of the caller's rooms.
package struct RoomAnswer: Equatable, Sendable {
    package var room: Room
    /// Services that were down. Their fields of this room have the last known values, or 0.
    package var degraded: [String]

    package init(room: Room, degraded: [String] = []) {
        self.room = room
        self.degraded = degraded
    }
}

extension RoomsAPI {
    /// Returns the caller's rooms in this order.
    package func myRooms(sortedBy order: RoomOrder = .activity) async throws -> RoomListing {
        let request = try HTTPRequest("GET", to: ["rooms", "my-rooms"], query: [("sort", order.rawValue)])
        let envelope = try await envelope([Room].self, of: request)
        return RoomListing(rooms: envelope.data, degraded: envelope.degraded ?? [])
    }

    /// Returns the same as `myRooms(sortedBy:)`, but the server sends nothing if the cached list is current.
    func myRooms(sortedBy order: RoomOrder, cachedIn cache: RoomListingCache) async throws -> RoomListing {
        let request = try HTTPRequest("GET", to: ["rooms", "my-rooms"], query: [("sort", order.rawValue)])
        let before = cache.last(of: order)
        guard let (envelope, tag) = try await envelope([Room].self, of: request, unless: before?.tag) else {
            guard let before else { throw ClientFailure.unreadable("an unchanged list, but none is cached") }
            return before.listing
        }
        let listing = RoomListing(rooms: envelope.data, degraded: envelope.degraded ?? [])
        cache.note(listing, tag: tag, of: order)
        return listing
    }

    /// Returns the people who share direct rooms with the caller, the latest activity first. Each person's rooms are sorted
    /// as by ``RoomOrder/content``.
    package func roomsByPerson() async throws -> [PersonWithRooms] {
        try await value(of: try HTTPRequest("GET", to: ["rooms", "grouped-by-person"]))
    }

    /// Returns one of the caller's rooms. The server refuses any other with `room_not_found`.
    package func room(_ id: String) async throws -> RoomAnswer {
        try await answer(to: try HTTPRequest("GET", to: ["rooms", id]))
    }

    /// Creates a direct room, even if the two people already share one.
    ///
    /// - Parameter requestID: 1 to 64 characters. A repeat with the same id returns the room that the first
    ///   call created. Without an id, and on older servers, a repeat creates another room.
    package func makeRoom(with userID: String, name: String? = nil, requestID: String? = nil) async throws -> RoomAnswer
    {
        let body = JSON.members([
            "otherUserId": .string(userID), "name": name.map(JSON.string),
            "clientRequestId": requestID.map(JSON.string),
        ])
        return try await answer(to: try HTTPRequest("POST", to: ["rooms"], body: body))
    }

    /// Creates a group, whose owner is the caller.
    ///
    /// - Parameters:
    ///   - userIDs: 1 to 99 other people. Repeated ids and the caller's are ignored.
    ///   - requestID: as for a direct room.
    package func makeGroup(
        with userIDs: [String], name: String? = nil, requestID: String? = nil
    ) async throws -> RoomAnswer {
        let body = JSON.members([
            "participantIds": .array(userIDs.map(JSON.string)), "name": name.map(JSON.string),
            "clientRequestId": requestID.map(JSON.string),
        ])
        return try await answer(to: try HTTPRequest("POST", to: ["rooms"], body: body))
    }

    /// Adds people to a group. Those who are there already are ignored.
    package func addPeople(_ userIDs: [String], to roomID: String) async throws -> RoomAnswer {
        let body: JSON = ["userIds": .array(userIDs.map(JSON.string))]
        return try await answer(to: try HTTPRequest("POST", to: ["rooms", roomID, "participants"], body: body))
    }

    /// Removes a person from a group; the caller leaves it.
    package func removePerson(_ userID: String, from roomID: String) async throws {
        try await perform(try HTTPRequest("DELETE", to: ["rooms", roomID, "participants", userID]))
    }

    /// Gives a person in a group another role.
    package func setRole(_ role: Room.Participant.Role, of userID: String, in roomID: String) async throws -> RoomAnswer
    {
        try await answer(
            to: try HTTPRequest(
                "PUT", to: ["rooms", roomID, "participants", userID, "role"], body: ["role": .string(role.rawValue)]))
    }

    /// Renames a room. An empty name removes the name.
    package func rename(_ roomID: String, to name: String) async throws -> RoomAnswer {
        try await answer(to: try HTTPRequest("PUT", to: ["rooms", roomID, "name"], body: ["name": .string(name)]))
    }

    private func answer(to request: HTTPRequest) async throws -> RoomAnswer {
        let envelope = try await envelope(Room.self, of: request)
        return RoomAnswer(room: envelope.data, degraded: envelope.degraded ?? [])
    }
}
