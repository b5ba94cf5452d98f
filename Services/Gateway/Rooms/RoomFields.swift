import Contracts
import JSON

/// What services add to every room, by what is made of it. Found out once for many rooms.
struct RoomFields: Sendable {
    struct Field: Sendable {
        let name: String
        /// Among a room's values.
        let index: Int
    }

    /// What is shown of a field where nothing is known, in the order of a room's values.
    let zeros: [JSONValue]
    private(set) var values: [Field] = []
    private(set) var times: [Field] = []
    private(set) var badges: [Field] = []
    /// Times that may be later than the room's own.
    private(set) var updates: [Int] = []
    private(set) var messagesUpdatedAt: Int?

    static let badgePrefix = "badges."

    init(_ fields: [Contribution.Field]) {
        zeros = fields.map(\.zero)
        for (index, field) in fields.enumerated() {
            switch field.kind {
            case .value where field.path.hasPrefix(Self.badgePrefix):
                badges.append(Field(name: String(field.path.dropFirst(Self.badgePrefix.count)), index: index))
            case .value: values.append(Field(name: field.path, index: index))
            case .time:
                times.append(Field(name: field.path, index: index))
                if field.path == "messagesUpdatedAt", messagesUpdatedAt == nil { messagesUpdatedAt = index }
            case .laterTime: if field.path == "updatedAt" { updates.append(index) }
            }
        }
    }
}
