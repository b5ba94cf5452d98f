import ParlorContracts
import ParlorJSON

/// The services' fields of a room, by their role. Computed once for many rooms.
struct RoomFields: Sendable {
    struct Field: Sendable {
        let name: String
        /// The index among a room's values.
        let index: Int
    }

    /// A time that may be the room's last activity.
    struct Activity: Sendable {
        let type: String
        /// The value of `sort` that selects this order.
        let sort: String
        let index: Int
    }

    /// The default values of all fields, in the order of a room's values.
    let zeros: [JSONValue]
    private(set) var values: [Field] = []
    private(set) var times: [Field] = []
    private(set) var badges: [Field] = []
    private(set) var activities: [Activity] = []
    /// The indices of times that may be later than the room's own.
    private(set) var updates: [Int] = []

    init(_ fields: [Contribution.Field]) {
        zeros = fields.map(\.zero)
        for (index, field) in fields.enumerated() {
            switch (field.kind, field.role) {
            case (.value, .badge(let name)): badges.append(Field(name: name, index: index))
            case (.value, _): values.append(Field(name: field.path, index: index))
            case (.time, let role):
                times.append(Field(name: field.path, index: index))
                if case .activity(let type, let sort) = role {
                    activities.append(Activity(type: type, sort: sort, index: index))
                }
            case (.laterTime, _): if field.path == "updatedAt" { updates.append(index) }
            }
        }
    }

    func order(_ sort: RoomSort) -> RoomOrder {
        switch sort {
        case .activity: .activity
        case .content: .content
        case .of(let name): .time(activities.firstIndex { $0.sort == name })
        }
    }
}
