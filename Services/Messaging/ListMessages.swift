import ParlorContracts
import ParlorJSON
import ParlorServiceKit

extension RequestDescription {
    static let listMessages = RequestDescription(
        "Lists messages in ascending order: the newest page, or the one before or after a `seq`.",
        takes: Messaging.page, gives: .array(of: Message.schema), isPaged: true)
}

extension Messaging {
    fileprivate static let page = Fields(.query("before"), .query("after"), pageLimit)
    /// A page's number of messages: by default, a phone's first screens.
    static let pageLimit = Field.limit(standard: 50, max: 200)

    /// Returns a page of a room's messages, oldest first: the newest ones, those before a `seq`, or those
    /// after one.
    ///
    /// `page.next` continues in the same direction: it is the next `after` if one was given, otherwise the
    /// next `before`.
    func list(_ request: RoomRequest) async throws -> Reply {
        let (before, after, limit) = try Self.page.read(request.fields)
        let room = request.room
        return try await request.read { connection in
            let messages = MessagesStore(connection)
            // One more than is shown, to see whether there is another page.
            let candidates =
                if let after {
                    try messages.oldest(in: room.roomID, after: after, before: before ?? .max, count: limit + 1)
                } else {
                    try messages.newest(in: room.roomID, before: before ?? .max, count: limit + 1)
                }
            let shown = candidates.prefix(Self.pageLength(candidates, limit: limit))
            let hasMore = candidates.count > shown.count
            let found = after == nil ? shown.reversed() : Array(shown)
            let receipts = try messages.receipts(of: found.map(\.id))
            let next = after == nil ? found.first : found.last
            return .page(
                JSONWriter.value(reservingCapacity: 512 * found.count) {
                    $0.array(of: found) { $1.write(to: &$0, in: room, readBy: receipts[$1.id] ?? []) }
                }, next: hasMore ? next.map { String($0.seq) } : nil)
        }
    }

    // MARK: The length of a page

    /// The size limit of a page's messages: a reply has to fit a line of the bus.
    private static let maxPageBytes = 1_000_000
    /// The maximum size of a message without its text, in a room of two: 400 bytes for a first name of 100 emoji, 256
    /// for a `tempId` of 64, up to 512 for the ids, times, one receipt and the names of the JSON members.
    private static let messageOverhead = 1200

    /// Returns how many of these messages, counted from the first, fit into one page: at most `limit`, and
    /// fewer if they are long. The first one always fits.
    static func pageLength(_ candidates: [Message], limit: Int) -> Int {
        var bytes = 0
        for (index, message) in candidates.prefix(limit).enumerated() {
            // The text is written twice, and escapes at most double it.
            bytes += 4 * message.text.utf8.count + messageOverhead
            if bytes > maxPageBytes, index > 0 { return index }
        }
        return min(candidates.count, limit)
    }
}
