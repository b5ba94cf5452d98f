import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage

// What `openapi.json` and `asyncapi.json` say.
extension RequestDescription {
    static let add = RequestDescription(
        "Adds an item.", takes: Items.newItem, gives: Item.schema, statuses: [.created],
        errors: [.invalidField])
    static let list = RequestDescription(
        "Lists the room's items, the oldest first.",
        takes: Items.page, gives: .array(of: Item.schema), isPaged: true)
}

extension EventDescription {
    static let added = EventDescription(
        "example:added", to: .room, "An item was added.", .object(["roomId": .id, "item": Item.schema]))
}

/// The items of all rooms.
struct Items: Sendable {
    let ids: UUIDv7Generator
    let clock: any WallClock

    fileprivate static let newItem = Fields(.text("text", length: 1...200, trimmed: true))
    fileprivate static let page = Fields(.limit(standard: 50, max: 200), .cursor)

    /// Adds an item.
    func add(_ request: RoomRequest) async throws -> Reply {
        let text = try Self.newItem.read(request.fields)
        let now = clock.now()
        let item = Item(
            id: ids.next(at: now.milliseconds), text: text, createdBy: request.caller.userID, createdAt: now)
        let added = JSONWriter.object {
            $0.member("roomId", request.room.roomID)
            $0.member("item", item.json)
        }
        let entry = try await request.write { connection in
            try ItemsStore(connection).insert(item, in: request.room.roomID)
            return try request.emit([Emission(to: .room, "example:added", added)], at: now, on: connection)
        }
        return Reply(.created, item.json, position: entry)
    }

    /// Lists items, the oldest first.
    func list(_ request: RoomRequest) async throws -> Reply {
        let (limit, cursor) = try Self.page.read(request.fields)
        // One more shows whether there is a next page.
        let found = try await request.read {
            try ItemsStore($0).items(of: request.room.roomID, after: cursor ?? "", limit: limit + 1)
        }
        let page = found.prefix(limit)
        let items = JSONWriter.value { json in json.array(of: page) { $0.value($1.json) } }
        return .page(items, next: found.count > limit ? page.last?.id : nil)
    }
}

struct Item: Sendable {
    let id: String
    let text: String
    let createdBy: String
    let createdAt: Timestamp

    static let schema = Schema.named(
        "Item", .object(["id": .id, "text": .string(1...200), "createdBy": .id, "createdAt": .time]))

    var json: JSONValue {
        JSONWriter.object {
            $0.member("id", id)
            $0.member("text", text)
            $0.member("createdBy", createdBy)
            $0.member("createdAt", createdAt.iso)
        }
    }
}
