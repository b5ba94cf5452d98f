import Contracts
import JSON
import MessageBus
import ServiceKit
import Storage

extension Messaging {
    /// Rooms that one read looks into: others' reads have their turn in between.
    private static let roomsInOneGo = 256

    /// A page of what two people wrote in all rooms they share, oldest first; the newest page, or the one before `before`.
    func conversation(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let otherID = try request.fields.string("userId")
        let before = try request.fields.optionalString("before").map { cursor throws(ServiceError) in
            try ConversationPlace(cursor: cursor)
        }
        let limit = try request.fields.queryLimit(standard: Self.standardPage, max: Self.maxPage)
        let roomIDs = try await sharedRooms(of: caller.id, and: otherID, request.onward())
        guard !roomIDs.isEmpty else { return .page(.emptyArray, next: nil) }
        let heads: [ConversationHead]? =
            if let before { try await heads(of: roomIDs, before: before) } else { nil }
        let (newest, found, receipts) = try await database.read { connection in
            let messages = MessagesStore(connection)
            // One more than is shown tells whether there is another page.
            let newest =
                if let heads {
                    try Self.newest(limit + 1, from: heads, messages)
                } else {
                    try Self.newest(limit + 1, of: try ChatsStore(connection).chats(of: roomIDs), messages)
                }
            let found = Array(newest.prefix(Self.pageLength(newest, limit: limit)).reversed())
            return (newest, found, try messages.receipts(of: found.map(\.id)))
        }
        let rooms = try await memberships(of: Set(found.map(\.roomID)), request.onward())
        let items = JSONWriter.value(reservingCapacity: 512 * found.count) {
            $0.array(of: found) { json, message in
                guard let room = rooms[message.roomID] else { return }
                message.write(to: &json, in: room, readBy: receipts[message.id] ?? [])
            }
        }
        let next = newest.count > found.count ? found.first.map { ConversationPlace($0).cursor } : nil
        return .page(items, next: next)
    }

    /// - Throws: `user_not_found` if the other is nobody.
    private func sharedRooms(
        of userID: String, and otherID: String, _ context: BusContext
    ) async throws(ServiceError) -> [String] {
        let shared = try await bus.askForAll(Subject.sharedRooms, context, of: "Rooms") {
            $0.member("userId", userID)
            $0.member("otherUserId", otherID)
            $0.member("idsOnly", true)
        }
        // An earlier version of Rooms knows of no `idsOnly`.
        return shared.compactMap { $0.string ?? $0["roomId"]?.string }
    }

    private func memberships(of roomIDs: Set<String>, _ context: BusContext) async throws -> [String: Membership] {
        try await withThrowingTaskGroup(of: Membership.self) { group in
            for id in roomIDs { group.addTask { try await memberships.find(id, context) } }
            return try await group.reduce(into: [:]) { $0[$1.roomID] = $1 }
        }
    }

    // MARK: Finding a page

    /// Where each room's newest message before a place stands, the latest first: a room is looked into no further than for its own.
    private func heads(of roomIDs: [String], before place: ConversationPlace) async throws -> [ConversationHead] {
        var heads: [ConversationHead] = []
        for start in stride(from: 0, to: roomIDs.count, by: Self.roomsInOneGo) {
            let some = Array(roomIDs[start..<min(start + Self.roomsInOneGo, roomIDs.count)])
            heads += try await database.read { try ChatsStore($0).heads(of: some, before: place) }
        }
        return heads.sorted { $0.place > $1.place }
    }

    /// Newest first. Rooms are read from the one with the latest head on, and no more of them than the page has messages.
    private static func newest(
        _ count: Int, from heads: [ConversationHead], _ messages: MessagesStore
    ) throws -> [Message] {
        var page: [Message] = []
        for head in heads {
            if page.count == count, let oldest = page.last, head.place < ConversationPlace(oldest) { break }
            page += try messages.newest(in: head.roomID, before: head.place.seq + 1, count: count)
            Self.cut(&page, to: count)
        }
        return page
    }

    /// Newest first. Rooms are looked at from the one with the latest change on, and no further than the page needs.
    private static func newest(_ count: Int, of chats: [Chat], _ messages: MessagesStore) throws -> [Message] {
        var page: [Message] = []
        for chat in chats {
            if page.count == count, let oldest = page.last, chat.updatedAt < oldest.createdAt { break }
            page += try messages.newest(in: chat.roomID, before: .max, count: count)
            Self.cut(&page, to: count)
        }
        return page
    }

    private static func cut(_ page: inout [Message], to count: Int) {
        page.sort { ConversationPlace($0) > ConversationPlace($1) }
        page.removeLast(max(page.count - count, 0))
    }
}

/// A room's newest message before a place.
struct ConversationHead: Sendable {
    let roomID: String
    let place: ConversationPlace
}
