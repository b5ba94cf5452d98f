/// The people who have rooms open or type in them, across all gateways.
///
/// Sockets own entries on this gateway, and gateways own them on behalf of their sockets. When this gateway begins or
/// ceases to own an entry, other gateways are informed. When an entry gets its first owner among all gateways, or loses
/// its last one, clients are informed.
struct PresenceTable: Sendable {
    private let gatewayID: String
    private var sockets = OwnerTable()
    private var gateways = OwnerTable()
    /// The entries that clients know.
    private var published: Set<Presence.Entry> = []
    /// The people who have each room open on any gateway, by room.
    private var present: [String: Set<String>] = [:]
    /// Rises with each change of `present(in:)`.
    private(set) var revision = 0

    init(gatewayID: String) { self.gatewayID = gatewayID }

    // MARK: Here

    func isOwnedHere(_ entry: Presence.Entry) -> Bool { sockets.hasOwner(entry) }
    func sockets(owning entry: Presence.Entry) -> Set<String> { sockets.owners(of: entry) }
    func entries(ofSocket id: String) -> Set<Presence.Entry> { sockets.entries(of: id) }

    /// - Returns: true if this gateway owns the entry now, and did not before.
    @discardableResult
    mutating func add(_ entry: Presence.Entry, socketID: String) -> Bool {
        guard sockets.add(entry, to: socketID) else { return false }
        set(true, entry, byGateway: gatewayID)
        return true
    }

    /// - Returns: true if this gateway owned the entry, and no longer does.
    @discardableResult
    mutating func remove(_ entry: Presence.Entry, socketID: String) -> Bool {
        guard sockets.remove(entry, from: socketID) else { return false }
        set(false, entry, byGateway: gatewayID)
        return true
    }

    // MARK: Everywhere

    func entries(ofGateway id: String) -> Set<Presence.Entry> { gateways.entries(of: id) }

    mutating func set(_ isOn: Bool, _ entry: Presence.Entry, byGateway id: String) {
        let hasChanged = isOn ? gateways.add(entry, to: id) : gateways.remove(entry, from: id)
        if hasChanged { notePresent(entry, isOn: isOn) }
    }

    /// Removes all entries that a gateway owns.
    ///
    /// - Returns: those entries.
    mutating func evict(_ gateway: String) -> Set<Presence.Entry> {
        let entries = gateways.entries(of: gateway)
        for entry in entries { set(false, entry, byGateway: gateway) }
        return entries
    }

    /// Removes the entries of a kind that other gateways own.
    ///
    /// - Returns: those entries.
    mutating func evictOthers(_ kind: Presence.Kind) -> Set<Presence.Entry> {
        var evicted: Set<Presence.Entry> = []
        for gateway in gateways.all where gateway != gatewayID {
            for entry in gateways.entries(of: gateway) where entry.kind == kind {
                set(false, entry, byGateway: gateway)
                evicted.insert(entry)
            }
        }
        return evicted
    }

    /// Returns the state of an entry that must be sent to clients, and counts it as sent; nil if they have
    /// it.
    mutating func takeChange(of entry: Presence.Entry) -> Bool? {
        let isOn = gateways.hasOwner(entry)
        guard isOn != published.contains(entry) else { return nil }
        if isOn { published.insert(entry) } else { published.remove(entry) }
        return isOn
    }

    /// Returns the people who have these rooms open, without rooms that no one has open.
    func present(in roomIDs: [String]) -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        for id in roomIDs { found[id] = present[id] }
        return found
    }

    private mutating func notePresent(_ entry: Presence.Entry, isOn: Bool) {
        guard entry.kind == .presence else { return }
        revision += 1
        let member = entry.member
        guard !isOn else {
            present[member.roomID, default: []].insert(member.userID)
            return
        }
        present[member.roomID]?.remove(member.userID)
        if present[member.roomID]?.isEmpty == true { present[member.roomID] = nil }
    }
}

/// The owners of each entry. An entry exists as long as it has one.
struct OwnerTable: Sendable {
    private var owners: [Presence.Entry: Set<String>] = [:]
    private var entries: [String: Set<Presence.Entry>] = [:]

    var all: [String] { Array(entries.keys) }
    func hasOwner(_ entry: Presence.Entry) -> Bool { owners[entry] != nil }
    func owners(of entry: Presence.Entry) -> Set<String> { owners[entry] ?? [] }
    func entries(of owner: String) -> Set<Presence.Entry> { entries[owner] ?? [] }

    /// - Returns: true if this is the entry's first owner.
    @discardableResult
    mutating func add(_ entry: Presence.Entry, to owner: String) -> Bool {
        let isFirst = owners[entry] == nil
        owners[entry, default: []].insert(owner)
        entries[owner, default: []].insert(entry)
        return isFirst
    }

    /// - Returns: true if this was the entry's last owner.
    @discardableResult
    mutating func remove(_ entry: Presence.Entry, from owner: String) -> Bool {
        guard owners[entry]?.remove(owner) != nil else { return false }
        entries[owner]?.remove(entry)
        if entries[owner]?.isEmpty == true { entries[owner] = nil }
        guard owners[entry]?.isEmpty == true else { return false }
        owners[entry] = nil
        return true
    }
}
