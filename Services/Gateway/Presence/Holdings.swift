/// One kind of thing that people hold, here and over all gateways.
///
/// Sockets hold places on this gateway, and gateways hold them for their sockets: what changes here is told to the other
/// gateways, what changes anywhere is told to clients.
struct Holdings: Sendable {
    private let gatewayID: String
    private var sockets = HolderTable()
    private var gateways = HolderTable()
    /// The places that clients know to be held.
    private var known: Set<RoomMember> = []

    init(gatewayID: String) { self.gatewayID = gatewayID }

    /// - Returns: whether this gateway began to hold the place.
    @discardableResult
    mutating func add(_ socketID: String, at place: RoomMember) -> Bool {
        guard sockets.add(socketID, at: place) else { return false }
        gateways.add(gatewayID, at: place)
        return true
    }

    /// - Returns: whether this gateway ceased to hold the place.
    @discardableResult
    mutating func remove(_ socketID: String, at place: RoomMember) -> Bool {
        guard sockets.remove(socketID, at: place) else { return false }
        gateways.remove(gatewayID, at: place)
        return true
    }

    mutating func set(_ isHeld: Bool, at place: RoomMember, byGateway id: String) {
        if isHeld { gateways.add(id, at: place) } else { gateways.remove(id, at: place) }
    }

    /// - Returns: the places that nobody holds any more.
    mutating func removeGateway(_ id: String) -> [RoomMember] { gateways.removeAll(of: id) }

    /// What clients are to be told of a place now: whether it is held; nil if they know.
    mutating func takeNews(of place: RoomMember) -> Bool? {
        let isHeld = gateways.isHeld(place)
        guard isHeld != known.contains(place) else { return nil }
        if isHeld { known.insert(place) } else { known.remove(place) }
        return isHeld
    }

    func isHeldHere(_ place: RoomMember) -> Bool { sockets.isHeld(place) }
    func userIDs(in roomID: String) -> some Collection<String> { gateways.userIDs(in: roomID) }
    func places(ofSocket id: String) -> Set<RoomMember> { sockets.places(of: id) }
    func places(ofGateway id: String) -> Set<RoomMember> { gateways.places(of: id) }
    func sockets(holding place: RoomMember) -> Set<String> { sockets.holders(of: place) }
    var placesHere: Set<RoomMember> { gateways.places(of: gatewayID) }
}
