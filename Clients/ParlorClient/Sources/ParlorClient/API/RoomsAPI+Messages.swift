import Foundation

extension RoomsAPI {
    /// Returns a page of a room's messages, in ascending `seq`.
    ///
    /// - Parameters:
    ///   - before: returns the messages below this `seq`. Without `before` and `after`, the page is the newest one.
    ///   - after: returns the messages above this `seq`; 0 for the first page.
    ///   - limit: 1 to 200.
    @concurrent
    package func messages(
        in roomID: String, before: Int? = nil, after: Int? = nil, limit: Int? = nil
    ) async throws -> Page<Message> {
        var page: Page<Message> = try await page(
            of: try HTTPRequest(
                "GET", to: ["rooms", roomID, "messages"],
                query: [
                    ("before", before.map { String($0) }), ("after", after.map { String($0) }),
                    ("limit", limit.map { String($0) }),
                ]))
        page.items = page.items.map { $0.inRoom(roomID) }
        return page
    }

    /// Sends a message.
    ///
    /// - Parameter tempID: 1 to 64 characters. A repeat with the same id stores nothing, and returns the first
    ///   message. If that was deleted, the server refuses with `message_not_found`.
    package func send(_ text: String, tempID: String? = nil, in roomID: String) async throws -> Message {
        let message: Message = try await value(
            of: try HTTPRequest(
                "POST", to: ["rooms", roomID, "messages"],
                body: .members(["text": .string(text), "tempId": tempID.map(JSON.string)])))
        return message.inRoom(roomID)
    }

    /// Deletes one of the caller's own messages.
    package func deleteMessage(_ id: String, in roomID: String) async throws {
        try await perform(try HTTPRequest("DELETE", to: ["rooms", roomID, "messages", id]))
    }

    /// Marks messages as read.
    ///
    /// - Parameter ids: 1 to 500.
    /// - Returns: the number of messages that were unread before.
    @discardableResult
    package func markRead(_ ids: [String], in roomID: String) async throws -> Int {
        let read: ReadCount = try await value(
            of: try HTTPRequest(
                "POST", to: ["rooms", roomID, "messages", "read"],
                body: ["messageIds": .array(ids.map(JSON.string))]))
        return read.readCount
    }

    /// Returns a page of the messages in all direct rooms that the caller shares with a person, oldest first.
    ///
    /// - Parameter before: the ``Page/next`` of the previous answer; nil for the newest page.
    package func messages(with userID: String, before: String? = nil, limit: Int? = nil) async throws -> Page<Message> {
        try await page(
            of: try HTTPRequest(
                "GET", to: ["users", userID, "messages"],
                query: [("before", before), ("limit", limit.map { String($0) })]))
    }
}

struct ReadCount: Decodable {
    let readCount: Int
}
