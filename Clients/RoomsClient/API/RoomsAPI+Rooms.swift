import Foundation

/// The caller's rooms.
public struct RoomListing: Equatable, Sendable {
    public var rooms: [Room]
    /// Services that were down: what they count in these rooms is the last known, or 0.
    public var degraded: [String]

    public init(rooms: [Room], degraded: [String] = []) {
        self.rooms = rooms
        self.degraded = degraded
    }
}

/// One of the caller's rooms.
public struct RoomAnswer: Equatable, Sendable {
    public var room: Room
    /// Services that were down: what they count in this room is the last known, or 0.
    public var degraded: [String]

    public init(room: Room, degraded: [String] = []) {
        self.room = room
        self.degraded = degraded
    }
}

extension RoomsAPI {
    /// The most recent first. In this answer alone, an unnamed room's `name` is empty and not nil.
    public func myRooms(sortedBy order: RoomOrder = .activity) async throws -> RoomListing {
        let request = try HTTPRequest("GET", to: ["rooms", "my-rooms"], query: [("sort", order.rawValue)])
        let envelope = try await envelope([Room].self, of: request)
        return RoomListing(rooms: envelope.data, degraded: envelope.degraded ?? [])
    }

    /// As `myRooms(sortedBy:)`. The server sends nothing if ``KeptListing`` still has its answer.
    func myRooms(sortedBy order: RoomOrder, keptIn kept: KeptListing) async throws -> RoomListing {
        let request = try HTTPRequest("GET", to: ["rooms", "my-rooms"], query: [("sort", order.rawValue)])
        let before = kept.last(of: order)
        guard let (envelope, tag) = try await envelope([Room].self, of: request, unless: before?.tag) else {
            guard let before else { throw ClientFailure.unreadable("an answer that nobody has") }
            return before.listing
        }
        let listing = RoomListing(rooms: envelope.data, degraded: envelope.degraded ?? [])
        kept.note(listing, tag: tag, of: order)
        return listing
    }

    /// People that the caller shares rooms with, most recent activity first; each one's rooms by content.
    public func roomsByPerson() async throws -> [PersonWithRooms] {
        try await value(of: try HTTPRequest("GET", to: ["rooms", "grouped-by-person"]))
    }

    public func room(_ id: String) async throws -> RoomAnswer {
        try await answer(to: try HTTPRequest("GET", to: ["rooms", id]))
    }

    /// Always a new room, however many the two share.
    ///
    /// - Parameter requestID: any text of 1 to 64 characters: the same one again, after an answer that was lost, brings the room
    ///   that it made. Without one, and with older servers, a repeated call makes another.
    public func makeRoom(with userID: String, name: String? = nil, requestID: String? = nil) async throws -> RoomAnswer
    {
        let body = JSON.members([
            "otherUserId": .string(userID), "name": name.map(JSON.string),
            "clientRequestId": requestID.map(JSON.string),
        ])
        return try await answer(to: try HTTPRequest("POST", to: ["rooms"], body: body))
    }

    /// An empty name takes it away.
    public func rename(_ roomID: String, to name: String) async throws -> RoomAnswer {
        try await answer(to: try HTTPRequest("PUT", to: ["rooms", roomID, "name"], body: ["name": .string(name)]))
    }

    private func answer(to request: HTTPRequest) async throws -> RoomAnswer {
        let envelope = try await envelope(Room.self, of: request)
        return RoomAnswer(room: envelope.data, degraded: envelope.degraded ?? [])
    }
}
