import Contracts
import JSON
import ServiceKit
import Storage

extension Elements {
    /// What it adds to a Room, in the order of `contribute`'s answer.
    static let contribution = Contribution(
        subject: "elements.contribute",
        fields: [
            Contribution.Field("elementCount", zero: JSONValue(0)),
            .badge("elements"),
            // Repeats the badge, for clients with a model of that name.
            Contribution.Field("unseenElementCount", zero: JSONValue(0)),
            Contribution.Field("updatedAt", .laterTime, zero: .null),
        ])

    /// For gateways: `{userId, roomIds}` → `{rooms}`, the values of each room in turn; null for one without a board yet.
    static func contribute(_ request: Request, on connection: any Connection) throws -> Reply {
        let userID = try request.fields.string("userId")
        let roomIDs = try request.fields.strings("roomIds", count: 0 ... .max)

        let boards = try ElementsDatabase.boards(of: roomIDs, seenBy: userID, on: connection)
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
