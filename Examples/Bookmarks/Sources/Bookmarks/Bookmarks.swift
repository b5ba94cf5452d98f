import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorSecurity
import ParlorServiceClient
import ParlorServiceKit
import ParlorStorage

// What `openapi.json` and `asyncapi.json` say.
extension RequestDescription {
    static let listBookmarks = RequestDescription(
        "Lists the messages of a room that the caller has bookmarked, the newest bookmark first.",
        gives: .array(of: Bookmark.schema))
    static let addBookmark = RequestDescription(
        "Bookmarks a message. Nobody else sees it.", takes: Bookmarks.message, gives: Bookmark.schema,
        errors: [.messageNotFound, .payloadTooLarge])
    static let removeBookmark = RequestDescription(
        "Removes a bookmark, if there is one.", takes: Bookmarks.message, statuses: [.noContent])
}

extension EventDescription {
    static let ofBookmarks = [
        EventDescription(
            "bookmarks:changed", to: .person, "The person's number of bookmarks in a room has changed.",
            .object(["roomId": .id, "bookmarkCount": .integer(from: 0)]))
    ]
}

struct Bookmark: Sendable, Equatable {
    let messageID: String
    let createdAt: Timestamp

    static let schema = Schema.named("Bookmark", .object(["messageId": .id, "createdAt": .time]))

    var json: JSONValue {
        JSONWriter.object {
            $0.member("messageId", messageID)
            $0.member("createdAt", createdAt.iso)
        }
    }
}

/// The bookmarks of all people.
struct Bookmarks: Sendable {
    let database: any Database
    let bus: any MessageBus
    let ids: UUIDv7Generator
    let clock: any WallClock

    static let maxInRoom = 500

    fileprivate static let message = Fields(.id("messageId", orThrow: .messageNotFound))

    static let contribution = FieldContribution<Int>(
        "bookmarks.contribute", [.init(Contribution.Field("bookmarkCount", zero: JSONValue(0))) { $0.number($1) }])

    /// Bookmarks a message: `{roomId, messageId}` → the bookmark.
    ///
    /// The message may be deleted at any moment, and then `take` deletes its bookmarks. So the bookmark is stored
    /// before Messaging is asked whether the message exists. If the message is deleted after the reply, `take` finds
    /// the bookmark. It counts only once the reply has arrived: if the process ends before, nobody has seen it.
    func add(_ request: RoomRequest) async throws -> Reply {
        let messageID = try Self.message.read(request.fields)
        let (now, roomID, userID) = (clock.now(), request.room.roomID, request.caller.userID)
        let bookmark = Bookmark(messageID: messageID, createdAt: now)
        let id = ids.next(at: now.milliseconds)
        let (existing, attempt) = try await request.write { connection -> (Bookmark?, String) in
            let store = BookmarksStore(connection)
            if let existing = try store.bookmark(messageID, in: roomID, of: userID) { return (existing, "") }
            guard let attempt = try store.insert(bookmark, as: id, in: roomID, of: userID, upTo: Self.maxInRoom) else {
                throw ServiceError(.payloadTooLarge, "You have \(Self.maxInRoom) bookmarks here, as many as you may.")
            }
            return (nil, attempt)
        }
        if let existing { return Reply(.ok, existing.json) }
        let exists = try await bus.existingMessages([messageID], in: roomID, request.onward()).contains(messageID)
        let outcome = try await request.write { connection -> (Bookmark, EntryPosition?)? in
            let store = BookmarksStore(connection)
            let isNew = try store.settle(attempt, exists: exists, of: userID)
            // Another request may have confirmed it meanwhile, or `take` deleted it.
            guard let stored = try store.bookmark(messageID, in: roomID, of: userID) else { return nil }
            return (stored, isNew ? try emitCount(of: userID, in: roomID, because: request.id, on: connection) : nil)
        }
        guard let (stored, entry) = outcome else { throw ServiceError.messageNotFound }
        return Reply(entry == nil ? .ok : .created, stored.json, position: entry)
    }

    /// Removes a bookmark: `{roomId, messageId}` → nothing, also if there is none.
    func remove(_ request: RoomRequest) async throws -> Reply {
        let messageID = try Self.message.read(request.fields)
        let (roomID, userID) = (request.room.roomID, request.caller.userID)
        let entry = try await request.write { connection -> EntryPosition? in
            guard try BookmarksStore(connection).delete(messageID, in: roomID, of: userID) else { return nil }
            return try emitCount(of: userID, in: roomID, because: request.id, on: connection)
        }
        return Reply(.noContent, position: entry)
    }

    /// Lists the caller's bookmarks in a room: `{roomId}` → all of them, the newest first.
    func list(_ request: RoomRequest) async throws -> Reply {
        let found = try await request.read {
            try BookmarksStore($0).bookmarks(in: request.room.roomID, of: request.caller.userID)
        }
        return Reply(.ok, JSONWriter.value { json in json.array(of: found) { $0.value($1.json) } })
    }

    /// Emits a person's number of bookmarks in a room to the person's sockets. The entry also makes gateways ask for it
    /// again when the person lists rooms.
    @discardableResult
    private func emitCount(
        of userID: String, in roomID: String, because requestID: String?, on connection: any Connection
    ) throws -> EntryPosition {
        let count = try BookmarksStore(connection).counts(in: [roomID], of: userID)[roomID] ?? 0
        let changed = JSONWriter.object {
            $0.member("roomId", roomID)
            $0.member("bookmarkCount", count)
        }
        let seq = try EventLog.append(
            at: clock.now(), roomID: roomID, participants: [userID],
            emissions: [Emission(to: .person(userID), "bookmarks:changed", changed)], requestID: requestID,
            on: connection)
        return BookmarksService.position(seq)
    }
}

/// Bookmarks go when their message is deleted.
extension Bookmarks: LogConsumer {
    /// The missing entries may have said that messages are deleted, so this asks Messaging which ones exist. `log.head` was
    /// read before that, so the entries after it say what is deleted later.
    func begin(_ log: FollowedLog, because reason: BeginReason) async throws -> LogPosition {
        let ids = try await database.read { try BookmarksStore($0).messageIDs() }
        let gone = Set(ids).subtracting(try await bus.existingMessages(ids, log.context))
        try await database.write { try forget(Array(gone), because: nil, on: $0) }
        return log.head
    }

    func take(_ entries: [LogEntry], on connection: any Connection) throws {
        for entry in entries {
            if let id = entry.fact?.deletedMessageID { try forget([id], because: entry.requestID, on: connection) }
        }
    }

    /// Most entries are of new messages, and need no transaction.
    func needsWrite(for entries: [LogEntry]) async throws -> Bool {
        entries.contains { $0.fact?.deletedMessageID != nil }
    }

    /// Deletes all bookmarks on messages. `bookmarkCount` changes for whoever had one, which takes an entry for each:
    /// without it gateways would show the number that they have cached.
    private func forget(
        _ messageIDs: [String], because requestID: String?, on connection: any Connection
    ) throws {
        for (userID, roomID) in try BookmarksStore(connection).deleteAll(on: messageIDs) {
            try emitCount(of: userID, in: roomID, because: requestID, on: connection)
        }
    }
}
