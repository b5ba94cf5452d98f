import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceClient
import ParlorWorkers

/// A page of all that a log's owner has, for followers that missed entries of its log (`Subject.snapshot`).
///
/// The pages are read one after the other, so together they do not show the state at one moment. The items are in the
/// order of their ids. What changes meanwhile has an entry after the position of the first page. So a follower that
/// stores the items, and then takes the entries after that position, has what the owner has. Until it has taken them
/// all, an item may be newer than the entries, or missing.
public struct SnapshotPage: Sendable {
    /// The position of the owner's log at which this page was read.
    public let position: LogPosition
    /// The items in the form that the owner documents.
    public let items: [JSONValue]
    /// The cursor of the next page; nil after the last.
    public let next: String?

    public init(position: LogPosition, items: [JSONValue], next: String?) {
        self.position = position
        self.items = items
        self.next = next
    }

    /// The limit of items in a page.
    static let maxItems = 64
    /// A page ends after the item with which its size reaches this. This size plus one item of any service still fits
    /// the bus.
    static let maxBytes = 256 * 1024
    /// The number of items that are read at a time: few, as an item may have 64 KiB, and people's reads wait for the
    /// same connections.
    private static let itemsInOneGo = 8

    /// Reads a page of as many items as fit.
    ///
    /// - Parameters:
    ///   - after: the page's cursor; "" for the first page.
    ///   - items: returns the items with greater ids than its argument, in the order of ids: `limit`, or fewer if there
    ///     are no more.
    public init(
        at position: LogPosition, after: String, reading items: (_ after: String, _ limit: Int) throws -> [SnapshotItem]
    ) throws {
        var found: [JSONValue] = []
        var last = after
        var bytes = 0
        while found.count < Self.maxItems {
            let read = try items(last, Self.itemsInOneGo)
            for item in read where bytes < Self.maxBytes {
                found.append(item.json)
                last = item.id
                bytes += item.json.bytes.count
            }
            if read.last.map({ $0.id == last }) ?? true, read.count < Self.itemsInOneGo {
                self.init(position: position, items: found, next: nil)
                return
            }
            if bytes >= Self.maxBytes { break }
            ThreadPriority.giveWay()
        }
        self.init(position: position, items: found, next: last)
    }

    public var reply: Reply {
        let size = items.reduce(256) { $0 + $1.bytes.count + 1 }
        let data = JSONWriter.object(reservingCapacity: size) {
            $0.member("position", object: { position.writeMembers(to: &$0) })
            $0.member("items", array: { for item in items { $0.value(item) } })
        }
        return .page(data, next: next)
    }

    /// Reads the result of `reply`; nil for anything else.
    init?(_ reply: Reply) {
        guard let position = reply.data["position"]?.object.flatMap(LogPosition.init),
            let items = reply.data["items"]?.array
        else { return nil }
        self.init(position: position, items: items, next: reply.page?.string)
    }
}

/// An item of a snapshot, and the id that gives it its place.
public struct SnapshotItem: Sendable {
    public let id: String
    public let json: JSONValue

    public init(id: String, json: JSONValue) {
        self.id = id
        self.json = json
    }
}

extension LogClient {
    /// Requests all pages of a snapshot in order, and calls the body for each. One page is in memory at a time.
    ///
    /// - Returns: the position from which to follow the log: that of the first page.
    /// - Throws: the errors of `MessageBus.ask`; `service_unavailable` also if a reply is not a page, or if the log was
    ///   replaced meanwhile; `CancellationError`; the body's errors.
    public func forEachSnapshotPage(
        of logID: LogID, _ body: (SnapshotPage) async throws -> Void
    ) async throws -> LogPosition {
        let first = try await snapshotPage(of: logID, cursor: nil)
        var page = first
        while true {
            guard page.position.databaseID == first.position.databaseID else { throw unavailable }
            try Task.checkCancellation()
            try await body(page)
            guard let next = page.next else { return first.position }
            page = try await snapshotPage(of: logID, cursor: next)
        }
    }
}
