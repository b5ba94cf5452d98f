import Contracts
import JSON
import ServiceKit
import Storage

extension Elements {
    /// Most boards come whole, so that a client that does not page shows all of them.
    private static let standardLimit = 200
    private static let maxLimit = 500

    /// `{roomId, limit?, cursor?}`, numbers as the query has them → a page of elements, oldest first. A page of large
    /// elements ends before its limit.
    func list(_ request: RoomRequest) async throws -> Reply {
        let limit = try request.fields.queryLimit(standard: Self.standardLimit, max: Self.maxLimit)
        let cursor = try request.fields.optionalString("cursor").map(ElementsCursor.init)

        let page = try await database.read {
            try BoardStore($0).elements(of: request.room.roomID, after: cursor?.rank ?? 0, limit: limit)
        }
        let elements = JSONWriter.value(reservingCapacity: 4096) { json in
            json.array(of: page.elements) { $0.value($1.json) }
        }
        return .page(elements, next: page.next.map { ElementsCursor(rank: $0).text })
    }
}

/// Where a list of elements goes on: after a rank. Opaque to clients.
private struct ElementsCursor {
    let rank: Int

    init(rank: Int) { self.rank = rank }

    init(_ text: String) throws(ServiceError) {
        guard let rank = Int(text), rank > 0, String(rank) == text else {
            throw ServiceError(.malformedRequest, "`cursor` is not one that was given out.")
        }
        self.rank = rank
    }

    var text: String { String(rank) }
}

extension Elements {
    /// What it adds to a Room, in the order of `contribute`'s answer.
    static let contribution = Contribution(
        subject: "elements.contribute",
        fields: [
            Contribution.Field("elementCount", zero: JSONValue(0)),
            Contribution.Field("badges.elements", zero: JSONValue(0)),
            // Repeats the badge, for clients with a model of that name.
            Contribution.Field("unseenElementCount", zero: JSONValue(0)),
            Contribution.Field("updatedAt", .laterTime, zero: .null),
        ])

    /// For gateways: `{userId, roomIds}` → `{rooms}`, the values of each room in turn; null for one without a board yet.
    static func contribute(_ request: Request, on connection: any Connection) throws -> Reply {
        let userID = try request.fields.string("userId")
        let roomIDs = try request.fields.strings("roomIds", count: 0 ... .max)

        let boards = try BoardStore(connection).summaries(of: roomIDs, seenBy: userID)
        let answer = JSONWriter.object(reservingCapacity: 32 + roomIDs.count * 32) {
            $0.name("rooms")
            $0.array(of: roomIDs) { json, id in
                guard let board = boards[id] else { return json.null() }
                json.array {
                    $0.number(board.elementCount)
                    $0.number(board.unseenCount)
                    $0.number(board.unseenCount)
                    $0.number(board.changedAt.milliseconds)
                }
            }
        }
        return Reply(.ok, answer)
    }
}

/// A board as a list of rooms shows it to one person.
struct BoardSummary: Sendable {
    let elementCount: Int
    let unseenCount: Int
    let changedAt: Timestamp
}
