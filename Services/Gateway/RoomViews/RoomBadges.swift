import ParlorContracts
import ParlorGatewayCatalog
import ParlorJSON
import ParlorReactor

/// Completes `room:badges`: the service that emits it provides its own badge, and clients get all badges.
///
/// The others come from the person's cached list, if no entry of their owners has concerned the room since. The owners
/// would reply with the same values, so the badges match the events that clients have been sent. Otherwise only their
/// owners are asked: an entry shows that a badge may have changed, but not its value.
package final class RoomBadges: Sendable {
    private let composer: RoomComposer
    private let cache: RoomListCache
    private let directory: Directory

    private typealias Contributor = (service: String, contribution: Contribution)

    package init(composer: RoomComposer, cache: RoomListCache, directory: Directory) {
        self.composer = composer
        self.cache = cache
        self.directory = directory
    }

    /// Returns the event's data.
    ///
    /// - Parameter given: the service's emission: `{badges: {NAME: COUNT}}`.
    package func data(_ given: JSONValue, roomID: String, for userID: String) async -> JSONValue {
        let catalog = directory.catalog
        let owners = Self.owners(of: given, catalog)
        let known = cache.badges(
            in: roomID, of: userID, from: owners.map(\.service), catalogRevision: catalog.revision)
        let others =
            if let known { known } else {
                await badges(of: [roomID], for: userID, owners, remembering: .some)[0]
            }
        return Self.data(given, roomID, others, catalog)
    }

    /// Returns the data of several events at once, in order. All owners are asked.
    package func data(
        _ given: [(roomID: String, data: JSONValue)], for userID: String
    ) async -> [JSONValue] {
        guard !given.isEmpty else { return [] }
        let catalog = directory.catalog
        let roomIDs = Set(given.map(\.roomID)).sorted()
        let badges = await badges(of: roomIDs, for: userID, catalog.contributors, remembering: .nothing)
        let byRoom = Dictionary(zip(roomIDs, badges), uniquingKeysWith: { first, _ in first })
        return given.map { Self.data($0.data, $0.roomID, byRoom[$0.roomID] ?? [:], catalog) }
    }

    /// Returns the services that own a badge that is not given.
    private static func owners(of given: JSONValue, _ catalog: Catalog) -> [Contributor] {
        let names = given["badges"]?.object?.names ?? []
        return catalog.contributors.filter { service, contribution in
            contribution.fields.contains { field in
                if case .badge(let name) = field.role { !names.contains(name) } else { false }
            }
        }
    }

    /// Returns each room's badges, from these services.
    private func badges(
        of roomIDs: [String], for userID: String, _ services: [Contributor],
        remembering remembered: RoomComposer.Remembered
    ) async -> [[String: JSONValue]] {
        let origin = RequestOrigin(id: "badges", deadline: .now() + ContributionClient.maxWait)
        let shares = await composer.shares(of: roomIDs, for: userID, services, origin, remembering: remembered)
        let fields = RoomFields(shares.flatMap(\.contribution.fields))
        return roomIDs.indices.map { index in
            let values = RoomComposer.values(of: shares, at: index)
            return Dictionary(
                fields.badges.map { ($0.name, values[$0.index]) }, uniquingKeysWith: { first, _ in first })
        }
    }

    private static func data(
        _ given: JSONValue, _ roomID: String, _ others: [String: JSONValue], _ catalog: Catalog
    ) -> JSONValue {
        let fields = RoomFields(catalog.contributors.flatMap(\.contribution.fields))
        let known = given["badges"]?.object
        return JSONWriter.object {
            $0.member("roomId", roomID)
            ComposedRoom.write(
                fields.badges.map {
                    (name: $0.name, count: known?[$0.name] ?? others[$0.name] ?? fields.zeros[$0.index])
                }, to: &$0)
        }
    }
}
