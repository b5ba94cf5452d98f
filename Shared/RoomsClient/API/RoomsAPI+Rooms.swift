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

extension RoomsAPI {
    /// The most recent first. In this answer alone, an unnamed room's `name` is empty and not nil.
    public func myRooms(sortedBy order: RoomOrder = .activity) async throws -> RoomListing {
        let request = try HTTPRequest("GET", to: ["rooms", "my-rooms"], query: [("sort", order.rawValue)])
        let envelope = try await envelope([Room].self, of: request)
        return RoomListing(rooms: envelope.data, degraded: envelope.degraded ?? [])
    }

    /// People that the caller shares rooms with, most recent activity first; each one's rooms by content.
    public func roomsByPerson() async throws -> [PersonWithRooms] {
        try await value(of: try HTTPRequest("GET", to: ["rooms", "grouped-by-person"]))
    }

    public func room(_ id: String) async throws -> Room {
        try await value(of: try HTTPRequest("GET", to: ["rooms", id]))
    }

    /// Always a new room, however many the two share: not to be repeated when its answer is lost.
    public func makeRoom(with userID: String, name: String? = nil) async throws -> Room {
        try await value(
            of: try HTTPRequest(
                "POST", to: ["rooms"],
                body: .members(["otherUserId": .string(userID), "name": name.map(JSON.string)])))
    }

    /// An empty name takes it away.
    public func rename(_ roomID: String, to name: String) async throws -> Room {
        try await value(of: try HTTPRequest("PUT", to: ["rooms", roomID, "name"], body: ["name": .string(name)]))
    }
}
