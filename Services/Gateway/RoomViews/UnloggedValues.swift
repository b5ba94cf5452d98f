import ParlorJSON

/// The values in a list of rooms that can change without an entry in a log. To find out whether they have changed, the
/// gateway asks their services again and compares.
struct UnloggedValues: Sendable {
    /// The values by service and room. A room for which a service had nothing has the value null.
    private var values: [String: [String: JSONValue]] = [:]

    /// The services that have to be asked again.
    var services: Dictionary<String, [String: JSONValue]>.Keys { values.keys }

    mutating func note(_ share: RoomComposer.Share, of roomIDs: [String]) {
        let own = zip(roomIDs, share.rooms).map { ($0, $1?.detached ?? .null) }
        values[share.service] = Dictionary(own, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the rooms for which a service has other values now.
    func changes(to share: RoomComposer.Share, of roomIDs: [String]) -> [String] {
        let earlier = values[share.service] ?? [:]
        return zip(roomIDs, share.rooms).compactMap { id, value in earlier[id] == (value ?? .null) ? nil : id }
    }

    /// Returns these values with the newer ones of some rooms. Earlier values stay only for services with `isLeft`.
    ///
    /// - Parameter isLeft: true for a service whose earlier values are still in the list.
    func replacing(with newer: UnloggedValues, leaving isLeft: (String) -> Bool) -> UnloggedValues {
        var all = self
        all.values = values.filter { isLeft($0.key) }
        for (service, rooms) in newer.values { all.values[service, default: [:]].merge(rooms) { _, new in new } }
        return all
    }

    /// The approximate size in bytes.
    var size: Int { values.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.bytes.count + 96 } } }
}
