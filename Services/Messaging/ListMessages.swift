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
            let surroundings = try messages.surroundings(of: candidates, in: room)
            let page = MessagePage(candidates, limit: limit) { $0.json(in: room, surroundings) }
            return page.reply(isDescending: after == nil) { String($0.seq) }
        }
    }
}

/// The first messages that fit into a page.
struct MessagePage: Sendable {
    /// A reply has to fit a line of the bus.
    static let maxBytes = 1_000_000

    private let messages: ArraySlice<Message>
    private let items: [JSONValue]
    private let hasMore: Bool

    /// Takes as many of the first candidates as fit: at least one, and at most `limit`.
    init(_ candidates: [Message], limit: Int, json: (Message) -> JSONValue) {
        var items: [JSONValue] = []
        var bytes = 0
        for message in candidates.prefix(limit) {
            let item = json(message)
            bytes += item.bytes.count + 1
            guard bytes <= Self.maxBytes || items.isEmpty else { break }
            items.append(item)
        }
        self.items = items
        messages = candidates.prefix(items.count)
        hasMore = candidates.count > items.count
    }

    /// Returns the page, oldest message first.
    ///
    /// - Parameters:
    ///   - isDescending: true if the candidates are newest first.
    ///   - cursor: returns the `page.next` with which the next page continues after a message.
    func reply(isDescending: Bool, cursor: (Message) -> String) -> Reply {
        let items = isDescending ? items.reversed() : items
        let json = JSONWriter.value(reservingCapacity: items.reduce(2) { $0 + $1.bytes.count + 1 }) {
            $0.array(of: items) { $0.value($1) }
        }
        return .page(json, next: hasMore ? messages.last.map(cursor) : nil)
    }
}
