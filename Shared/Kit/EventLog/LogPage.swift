import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceClient

/// A request for entries of a log (`Subject.logPage`). Its owner replies with a `LogPage`.
public struct LogQuery: Sendable, Equatable {
    /// The limits of a page's entries and bytes, below the bus's limit of a line.
    public static let maxEntries = 500
    static let maxBytes = 512 * 1024
    /// The limit of rooms in one request.
    public static let maxRooms = 10_000

    /// The number of the log (`LogLayout`).
    public var log = 0
    /// The last position that the sender has.
    public var since: Int
    /// The digest of the entry at `since`, with which the owner checks that its log has the same past; nil to
    /// skip the check.
    public var digest: Int?
    /// The last position of interest.
    public var through: Int?
    /// The rooms of interest; nil for all. `""` stands for entries without a room.
    public var roomIDs: ArraySlice<String>?
    public var limit: Int?

    public init(
        since: Int = 0, digest: Int? = nil, through: Int? = nil, roomIDs: ArraySlice<String>? = nil, limit: Int? = nil
    ) {
        self.since = since
        self.digest = digest
        self.through = through
        self.roomIDs = roomIDs
        self.limit = limit
    }

    /// Creates a query for the entries after a position. The owner checks that its log still contains that position
    /// (`LogPage.isKnown`).
    public init(after position: LogPosition, through: Int? = nil, roomIDs: ArraySlice<String>? = nil, limit: Int? = nil)
    {
        self.init(since: position.seq, digest: position.digest, through: through, roomIDs: roomIDs, limit: limit)
    }

    /// Returns the same query for another log of the service.
    func of(_ log: Int) -> LogQuery {
        var query = self
        query.log = log
        return query
    }

    /// The same query for half as many entries; nil if it is for one.
    var halved: LogQuery? {
        let limit = min(limit ?? Self.maxEntries, Self.maxEntries)
        guard limit > 1 else { return nil }
        var halved = self
        halved.limit = limit / 2
        return halved
    }

    /// The query for the log's head, without entries.
    public static let head = LogQuery(limit: 0)

    public var json: JSONValue {
        JSONWriter.object(reservingCapacity: (roomIDs?.count ?? 0) * 40 + 128) {
            if log != 0 { $0.member("log", log) }
            $0.member("since", since)
            if let digest { $0.member("digest", digest) }
            if let through { $0.member("through", through) }
            if let roomIDs { $0.member("roomIds", roomIDs) }
            if let limit { $0.member("limit", limit) }
        }
    }
}

/// The owner's reply to a `LogQuery`, over one snapshot.
public struct LogPage: Sendable {
    /// The position of the newest entry.
    public let head: LogPosition
    /// The positions of the newest entries of all logs to which the service writes, by their numbers. A reply to a query
    /// without entries has them; nil for the only log of nearly all services.
    public var heads: [Int: LogPosition]?
    /// The numbers of other logs that have entries: those of earlier generations (`LogLayout`), in order.
    public var earlier: [Int] = []
    /// The first entry that was not pruned; one after the head if there is none.
    public let oldest: Int
    /// True if the log still contains the query's position, or the query has no digest to check. False if the entry
    /// there was pruned, or if the log has another past: a restored backup has other entries with the same numbers, or
    /// ends before them.
    public let isKnown: Bool
    /// The entries in order, without gaps except for those that were pruned or not requested.
    public let entries: [LogEntry]
    /// The position up to which `entries` is complete.
    public let through: Int
    /// The number of malformed entries. They are left out.
    package let malformedCount: Int

    public init(
        head: LogPosition, oldest: Int, isKnown: Bool, entries: [LogEntry], through: Int, malformedCount: Int = 0
    ) {
        self.head = head
        self.oldest = oldest
        self.isKnown = isKnown
        self.entries = entries
        self.through = through
        self.malformedCount = malformedCount
    }

    /// The numbers of the logs to which the service writes.
    public var logs: [Int] { heads?.keys.sorted() ?? [0] }

    func head(of log: Int) -> LogPosition? {
        guard let heads else { return log == 0 ? head : nil }
        return heads[log]
    }

    public var json: JSONValue {
        let size = entries.reduce(256) { $0 + $1.emissionsJSON.bytes.count + 256 }
        return JSONWriter.object(reservingCapacity: size) {
            $0.member("head", object: { head.writeMembers(to: &$0) })
            heads?.write(to: &$0)
            if !earlier.isEmpty { $0.member("earlier", array: { for number in earlier { $0.number(number) } }) }
            $0.member("oldest", oldest)
            $0.member("isKnown", isKnown)
            $0.member("through", through)
            $0.member("entries", array: { for entry in entries { entry.write(to: &$0) } })
        }
    }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) { self.init(json, sharing: ParticipantLists()) }

    private init?(_ json: JSONValue, sharing lists: ParticipantLists) {
        guard let object = json.object, let head = object["head"]?.object.flatMap(LogPosition.init),
            let oldest = object["oldest"]?.logNumber, let isKnown = object["isKnown"]?.bool,
            let through = object["through"]?.logNumber, let found = object["entries"]?.array
        else { return nil }
        let entries = found.compactMap { LogEntry($0, sharing: lists) }
        self.init(
            head: head, oldest: oldest, isKnown: isKnown, entries: entries, through: through,
            malformedCount: found.count - entries.count)
        heads = [Int: LogPosition](object)
        guard heads != nil || object["heads"] == nil else { return nil }
        earlier = object["earlier"]?.list(of: \.log)?.sorted() ?? []
    }
}

extension [Int: LogPosition] {
    /// Writes the heads of several logs as the member `heads`.
    package func write(to json: inout JSONWriter) {
        json.member(
            "heads",
            array: {
                for (log, head) in sorted(by: { $0.key < $1.key }) {
                    $0.object {
                        $0.member("log", log)
                        head.writeMembers(to: &$0)
                    }
                }
            })
    }

    /// Parses the result of `write(to:)`; nil for anything else.
    public init?(_ object: JSONObject) {
        let heads = object["heads"]?.list { head -> (Int, LogPosition)? in
            guard let members = head.object, let log = members["log"]?.log, let position = LogPosition(members)
            else { return nil }
            return (log, position)
        }
        guard let heads, !heads.isEmpty else { return nil }
        self.init(heads, uniquingKeysWith: { _, last in last })
    }
}

extension JSONValue {
    /// A position or a time in a log that another process sent; nil if it is so large that sums with it could overflow.
    var logNumber: Int? { int.flatMap { (0..<(1 << 53)).contains($0) ? $0 : nil } }
    /// The number of a log that another process sent; nil for one that no log has.
    var log: Int? { int.flatMap { LogLayout.numbers.contains($0) ? $0 : nil } }
}

// MARK: As a service's reply

extension LogPage {
    /// A page as a reply: the page itself on a bus within the process, a `Reply` on the wire.
    public struct Payload: BusPayload {
        let page: LogPage

        public init(_ page: LogPage) { self.page = page }

        public var json: JSONValue { Reply(.ok, page.json).json }
        public var maxBytes: Int { page.entries.reduce(1024) { $0 + $1.maxBytes } }
    }

    /// Reads the reply of a log's owner; nil if it is not a page.
    ///
    /// - Throws: the owner's error.
    init?(_ payload: any BusPayload, sharing lists: ParticipantLists) throws(ServiceError) {
        if let local = payload as? Payload {
            self = local.page
        } else {
            self.init(try Reply(payload).data, sharing: lists)
        }
    }
}
