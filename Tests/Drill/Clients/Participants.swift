import ParlorJSON
import ParlorReactor
import TestClients

/// The people of the drill and their rooms, all created before the first fault.
///
/// The clients form a ring: each shares a room with the next. Every fourth also shares one with
/// somebody who never opens it. Groups have residents, who never connect, and the clients come and go.
struct Participants {
    /// Who is in each room. Rooms that clients create during the drill are left out.
    struct Roles: Sendable {
        var rooms: [String: [String]] = [:]
        /// The rooms whose people have changed.
        var groups: Set<String> = []
        /// The groups that were deleted, with all that was in them.
        var deletedRooms: Set<String> = []
        /// People who never connect.
        var absentees: Set<String> = []
    }

    let clients: [SimulatedClient]
    let owners: [GroupOwner]
    let removals: Removals
    private let initialRoles: Roles
    private let people: [Person]

    private static let maxPeople = 100
    /// The numbers of residents of the first groups, without the owner. The following groups begin again.
    private static let residents = [1, 3, 9, 24, 80]

    static func make(
        clients: Int, absentees: Int, groups: Int, cluster: Cluster, on loop: EventLoop
    ) async throws -> Participants {
        guard let address = await cluster.gatewayAddress else { throw ClientError("there is no gateway") }
        let fixture = Fixture(server: address, loop: loop)
        let sizes = (0..<groups).map { residents[$0 % residents.count] }
        let people = try await fixture.register(clients + absentees + groups + (sizes.max() ?? 0))
        let firstOwner = clients + absentees
        var roles = Roles(absentees: Set(people[clients..<firstOwner].map(\.id)))
        var rooms: [String: [String]] = [:]
        func share(_ owner: Person, _ other: Person) async throws {
            let id = try await fixture.makeRooms(1, of: owner, with: other)[0]
            roles.rooms[id] = [owner.id, other.id]
            for person in [owner, other] { rooms[person.id, default: []].append(id) }
        }
        for index in 0..<clients {
            try await share(people[index], people[(index + 1) % clients])
            if index.isMultiple(of: 4) { try await share(people[index], people[clients + index / 4 % absentees]) }
        }
        let removals = Removals()
        var owners: [GroupOwner] = []
        for (index, size) in sizes.enumerated() {
            let owner = people[firstOwner + index]
            let residentIDs = people[(firstOwner + groups)...].prefix(size).map(\.id)
            owners.append(
                GroupOwner(
                    owner, roomID: try await fixture.makeGroup(of: owner, with: residentIDs), residents: residentIDs,
                    clients: Array(people[..<clients].prefix(maxPeople - 1 - size)), removals: removals,
                    cluster: cluster, on: loop))
        }
        let simulated = (0..<clients).map { index in
            SimulatedClient(
                people[index], rooms: rooms[people[index].id] ?? [], friend: people[(index + 1) % clients],
                removals: removals, cluster: cluster, on: loop)
        }
        return Participants(
            clients: simulated, owners: owners, removals: removals, initialRoles: roles, people: people)
    }

    /// Who is in which room now.
    var roles: Roles {
        get async {
            var roles = initialRoles
            for owner in owners {
                roles.rooms[owner.roomID] = await owner.people.sorted()
                roles.groups.insert(owner.roomID)
                roles.absentees.formUnion(owner.staying)
                roles.deletedRooms.formUnion(await owner.log.deletedRooms)
            }
            return roles
        }
    }

    /// Returns the rooms that each person sees, by person and room. People who cannot be asked are
    /// left out.
    func shownRooms(of cluster: Cluster, on loop: EventLoop) async -> [String: [String: ShownRoom]] {
        var shown: [String: [String: ShownRoom]] = [:]
        for person in people {
            // The audit reports a missing person as a fault.
            guard let address = await cluster.gatewayAddress,
                let client = try? await HTTPClient.connect(to: address, on: loop)
            else { continue }
            let call = HTTPCall("GET", "/api/rooms/my-rooms", token: person.token)
            let answers = try? await HTTPBatch([call], on: [client]).run()
            client.close()
            guard let rooms = try? answers?.first?.data().array else { continue }
            shown[person.id] = Dictionary(
                rooms.compactMap(ShownRoom.init).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        }
        return shown
    }
}

/// The counters of a room, as shown to one person.
struct ShownRoom: Sendable {
    let id: String
    let elementCount: Int
    let unread: Int
    let unseen: Int

    init?(_ json: JSONValue) {
        guard let room = json.object, let id = room["id"]?.string, let elementCount = room["elementCount"]?.int,
            let badges = room["badges"]?.object, let unread = badges["messages"]?.int,
            let unseen = badges["elements"]?.int
        else { return nil }
        self.id = id
        self.elementCount = elementCount
        self.unread = unread
        self.unseen = unseen
    }
}
