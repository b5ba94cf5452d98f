/// One kind of thing that people hold, here and over all gateways.
///
/// Sockets hold places on this gateway, and gateways hold them for their sockets: what changes here is told to the other
/// gateways, what changes anywhere is told to clients.
struct Holdings: Sendable {
    typealias Place = HolderTable.Place

    /// What a step changed.
    struct Step: Sendable {
        /// Whether this gateway began or ceased to hold the place.
        let here: Bool
        /// Whether it began or ceased to be held at all.
        let anywhere: Bool
    }

    private let gatewayID: String
    private var sockets = HolderTable()
    private var gateways = HolderTable()

    init(gatewayID: String) { self.gatewayID = gatewayID }

    mutating func add(_ socketID: String, at place: Place) -> Step {
        guard sockets.add(socketID, at: place) else { return Step(here: false, anywhere: false) }
        return Step(here: true, anywhere: gateways.add(gatewayID, at: place))
    }

    mutating func remove(_ socketID: String, at place: Place) -> Step {
        guard sockets.remove(socketID, at: place) else { return Step(here: false, anywhere: false) }
        return Step(here: true, anywhere: gateways.remove(gatewayID, at: place))
    }

    /// - Returns: whether that made a difference to clients.
    mutating func set(_ isHeld: Bool, at place: Place, byGateway id: String) -> Bool {
        isHeld ? gateways.add(id, at: place) : gateways.remove(id, at: place)
    }

    /// - Returns: the places that nobody holds any more.
    mutating func removeGateway(_ id: String) -> [Place] { gateways.removeAll(of: id) }

    func isHeld(_ place: Place) -> Bool { gateways.isHeld(place) }
    func isHeld(_ place: Place, bySocket id: String) -> Bool { sockets.isHeld(place, by: id) }
    func userIDs(in roomID: String) -> some Collection<String> { gateways.userIDs(in: roomID) }
    func places(ofSocket id: String) -> Set<Place> { sockets.places(of: id) }
    func places(ofGateway id: String) -> Set<Place> { gateways.places(of: id) }
    func sockets(holding place: Place) -> Set<String> { sockets.holders(of: place) }
    var placesHere: Set<Place> { gateways.places(of: gatewayID) }
}
