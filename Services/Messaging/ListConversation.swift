import Contracts
import JSON
import MessageBus
import ServiceKit
import Storage

extension Messaging {
    /// A page of what two people wrote in all rooms they share, oldest first; the newest page, or the one before `before`.
    func conversation(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let otherID = try request.fields.string("userId")
        let before = try request.fields.optionalString("before").map { cursor throws(ServiceError) in
            try ConversationPlace(cursor: cursor)
        }
        let limit = try request.fields.queryLimit(standard: Self.standardPage, max: Self.maxPage)
        let rooms = try await sharedRooms(of: caller.id, and: otherID, request.onward())
        guard !rooms.isEmpty else { return .page(.emptyArray, next: nil) }
        return try await database.read { connection in
            let messages = try MessagingDatabase(connection)
            // One more than is shown tells whether there is another page.
            let newest = try Self.newest(limit + 1, in: Array(rooms.keys), before: before, messages)
            let found = Array(newest.prefix(Self.pageLength(newest, limit: limit)).reversed())
            let receipts = try messages.receipts(of: found.map(\.id))
            let items = JSONWriter.value(reservingCapacity: 512 * found.count) {
                $0.array(of: found) { json, message in
                    guard let room = rooms[message.roomID] else { return }
                    message.write(to: &json, in: room, readBy: receipts[message.id] ?? [])
                }
            }
            let next = newest.count > found.count ? found.first.map { ConversationPlace($0).cursor } : nil
            return .page(items, next: next)
        }
    }

    /// - Throws: `user_not_found` if the other is nobody.
    private func sharedRooms(
        of userID: String, and otherID: String, _ context: BusContext
    ) async throws(ServiceError) -> [String: Membership] {
        let shared = try await bus.askForAll("rooms.shared", context, of: "Rooms") {
            $0.member("userId", userID)
            $0.member("otherUserId", otherID)
        }
        return Dictionary(shared.compactMap(Membership.init).map { ($0.roomID, $0) }) { first, _ in first }
    }

    /// Newest first. Rooms are looked at from the one with the latest change on, and no further than the page needs.
    private static func newest(
        _ count: Int, in roomIDs: [String], before place: ConversationPlace?, _ messages: MessagingDatabase
    ) throws -> [Message] {
        var page: [Message] = []
        for chat in try messages.chats(of: roomIDs) {
            if page.count == count, let oldest = page.last, chat.updatedAt < oldest.createdAt { break }
            let end = try place.map { try messages.firstSeq(notBefore: $0, in: chat) } ?? .max
            page += try messages.newest(in: chat.roomID, before: end, count: count)
            page.sort { ConversationPlace($0) > ConversationPlace($1) }
            page.removeLast(max(page.count - count, 0))
        }
        return page
    }
}
