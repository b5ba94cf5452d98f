import ParlorContracts
import ParlorGatewayCatalog

/// The orders of lists of rooms, always with the latest first.
package enum RoomSort: Hashable, Sendable {
    /// Sorts by the last activity of any kind.
    case activity
    /// Sorts by the room's own `updatedAt`.
    case content
    /// Sorts by a service's activity. The value is the name of this order in the service's manifest.
    case of(String)

    /// Reads the name of an order.
    ///
    /// - Throws: `invalid_field` for a name that neither the gateway nor a service knows;
    ///   `service_unavailable` while a required service, which may know it, has not announced itself.
    package init(_ name: String, in catalog: Catalog) throws(ServiceError) {
        switch name {
        case "activity": self = .activity
        case "content": self = .content
        default:
            let others = catalog.contributors.flatMap(\.contribution.fields).compactMap(\.sort)
            guard others.contains(name) else {
                guard catalog.isWhole else { throw .unavailable("This order of rooms") }
                throw .invalid("sort", "has to be \((["activity"] + others).joined(separator: ", ")) or content")
            }
            self = .of(name)
        }
    }
}

extension Contribution.Field {
    fileprivate var sort: String? { if case .activity(_, let sort) = role { sort } else { nil } }
}

/// A `RoomSort` resolved to the contributed fields.
enum RoomOrder: Sendable {
    case activity, content
    /// Sorts by the time of the activity at this index; nil if it is unknown.
    case time(Int?)
}

/// The sort key of a room or a person. The latest comes first. Of two with the same time, the greater id, which is the
/// newer one, comes first.
struct SortKey: Comparable, Sendable {
    /// The time of the key, in milliseconds since 1970.
    let time: Int
    let id: String

    static func < (one: SortKey, other: SortKey) -> Bool { (one.time, one.id) > (other.time, other.id) }
}
