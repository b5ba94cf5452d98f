import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let conversation = RequestDescription(
        "Lists the messages of all rooms that are shared with a person, in ascending order.",
        takes: Messaging.conversationPage, gives: .array(of: Message.schema), isPaged: true, errors: [.userNotFound])
}

extension Messaging {
    /// The limits of one read, in rooms and queries, so that other reads run in between.
    private static let roomsInOneGo = 256
    private static let queriesInOneGo = 64

    fileprivate static let conversationPage = Fields(
        .string("userId", .id),
        .optional(
            .string(
                "before", .string, note: "The `page.next` of the previous page.", ConversationCursor.init(encoded:))),
        pageLimit)

    /// Returns a page of the messages of two people in all rooms they share, oldest first; the newest page,
    /// or the one before `before`.
    func conversation(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let (otherID, before, limit) = try Self.conversationPage.read(request.fields)
        let roomIDs = try await sharedRooms(of: caller.id, and: otherID, request.onward())
        guard !roomIDs.isEmpty else { return .page(.emptyArray, next: nil) }
        let newest = try await newest(limit + 1, in: roomIDs, before: before, until: request.deadline)
        let receipts = try await database.read { connection in
            try MessagesStore(connection).receipts(of: newest.map(\.id))
        }
        let rooms = try await memberships(of: Set(newest.map(\.roomID)), request.onward())
        let surroundings = MessageSurroundings(receipts: receipts)
        let page = MessagePage(newest.filter { rooms[$0.roomID] != nil }, limit: limit) { message in
            rooms[message.roomID].map { message.json(in: $0, surroundings) } ?? .null
        }
        return page.reply(isDescending: true) { ConversationCursor($0).encoded }
    }

    /// - Throws: `user_not_found` if the other person does not exist.
    private func sharedRooms(
        of userID: String, and otherID: String, _ context: BusContext
    ) async throws(ServiceError) -> [String] {
        let shared = try await bus.askForAll(Subject.sharedRooms, context, of: "Rooms") {
            $0.member("userId", userID)
            $0.member("otherUserId", otherID)
            $0.member("idsOnly", true)
        }
        // An earlier version of Rooms does not know `idsOnly`.
        return shared.compactMap { $0.string ?? $0["roomId"]?.string }
    }

    private func memberships(of roomIDs: Set<String>, _ context: BusContext) async throws -> [String: Membership] {
        try await withThrowingTaskGroup(of: Membership.self) { group in
            for id in roomIDs { group.addTask { try await memberships.find(id, context) } }
            return try await group.reduce(into: [:]) { $0[$1.roomID] = $1 }
        }
    }

    // MARK: Finding a page

    /// Returns the newest messages, newest first.
    ///
    /// - Parameter deadline: the request's deadline.
    /// - Throws: `service_unavailable` after the deadline: the requester no longer waits, and other reads are waiting
    ///   for the database.
    func newest(
        _ count: Int, in roomIDs: [String], before cursor: ConversationCursor?, until deadline: ContinuousClock.Instant
    ) async throws -> [Message] {
        let rooms =
            if let cursor {
                try await heads(of: roomIDs, before: cursor, until: deadline).map(ConversationMerge.Room.init)
            } else {
                try await database.read { try ChatsStore($0).chats(of: roomIDs) }
                    .map(ConversationMerge.Room.init)
            }
        var merge = ConversationMerge(of: count, from: rooms)
        while !merge.isDone {
            try Self.requireTime(until: deadline)
            merge = try await database.read { [merge] connection in
                var merge = merge
                try merge.advance(on: MessagesStore(connection), queries: Self.queriesInOneGo)
                return merge
            }
        }
        return merge.page
    }

    /// Returns the position of each room's newest message before a cursor.
    private func heads(
        of roomIDs: [String], before cursor: ConversationCursor, until deadline: ContinuousClock.Instant
    ) async throws -> [ConversationHead] {
        var heads: [ConversationHead] = []
        for start in stride(from: 0, to: roomIDs.count, by: Self.roomsInOneGo) {
            try Self.requireTime(until: deadline)
            let some = Array(roomIDs[start..<min(start + Self.roomsInOneGo, roomIDs.count)])
            heads += try await database.read { try ChatsStore($0).heads(of: some, before: cursor) }
        }
        return heads
    }

    /// Checks the deadline. Called before each of several reads.
    private static func requireTime(until deadline: ContinuousClock.Instant) throws(ServiceError) {
        guard deadline > .now else { throw .unavailable("This part of the service") }
    }
}

/// A room's newest message before a cursor.
struct ConversationHead: Sendable {
    let roomID: String
    let cursor: ConversationCursor
}
