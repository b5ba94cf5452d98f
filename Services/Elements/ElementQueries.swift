import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let listElements = RequestDescription(
        "Lists a room's elements, the oldest first.",
        takes: Elements.page, gives: .array(of: Element.schema), isPaged: true)
}

extension Elements {
    /// Most boards fit into a page of the default length, so a client without paging shows them completely.
    fileprivate static let page = Fields(
        .limit(standard: 200, max: 500), .optional(.string("cursor", .string, ElementsCursor.init(_:))))

    /// Lists elements, the oldest first. A page of large elements ends before its limit.
    func list(_ request: RoomRequest) async throws -> Reply {
        let (limit, cursor) = try Self.page.read(request.fields)
        let page = try await request.read {
            try BoardStore($0).elements(of: request.room.roomID, after: cursor?.rank ?? 0, limit: limit)
        }
        let elements = JSONWriter.value(reservingCapacity: 4096) { json in
            json.array(of: page.elements) { $0.value($1.json) }
        }
        return .page(elements, next: page.next.map { ElementsCursor(rank: $0).text })
    }
}

extension Elements {
    /// The limit of ids in one request.
    private static let maxIDs = 1000

    /// Returns which elements were not deleted, for services that keep something about elements: `{elementIds}` →
    /// `{elementIds}`, in no order.
    static func existing(_ request: Request, on connection: any Connection) throws -> Reply {
        let ids = try request.fields.strings("elementIds", count: 0...maxIDs)
        let existing = try BoardStore(connection).existing(ids)
        return Reply(.ok, JSONWriter.object { $0.member("elementIds", existing) })
    }
}

extension Elements {
    /// Returns elements in the order of their ids, in the form of the public contract, for services that follow the
    /// log.
    static func snapshot(after id: String, limit: Int, on connection: any Connection) throws -> [SnapshotItem] {
        try BoardStore(connection).elements(after: id, limit: limit).map { SnapshotItem(id: $0.id, json: $0.json) }
    }
}

/// The cursor of a list of elements: a rank. It is opaque to clients.
private struct ElementsCursor {
    let rank: Int

    init(rank: Int) { self.rank = rank }

    init(_ text: String) throws(ServiceError) {
        guard let rank = Int(text), rank > 0, String(rank) == text else { throw .badCursor }
        self.rank = rank
    }

    var text: String { String(rank) }
}

extension Elements {
    /// The fields of boards in a person's rooms.
    static let contribution = FieldContribution<BoardSummary>(
        "elements.contribute",
        [
            .init(Contribution.Field("elementCount", zero: JSONValue(0))) { $0.number($1.elementCount) },
            .init(.badge("elements")) { $0.number($1.unseenCount) },
            // Repeats the badge, for clients whose model has this name.
            .init(Contribution.Field("unseenElementCount", zero: JSONValue(0))) { $0.number($1.unseenCount) },
            .init(Contribution.Field("updatedAt", .laterTime, zero: .null)) { $0.number($1.changedAt.milliseconds) },
        ])
}

/// A board as a list of rooms shows it to one person.
struct BoardSummary: Sendable {
    let elementCount: Int
    let unseenCount: Int
    let changedAt: Timestamp
}
