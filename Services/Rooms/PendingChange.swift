import ParlorContracts
import ParlorJSON
import ParlorServiceKit

/// Changes of a room's people that are stored, and wait until all keepers and gateways have confirmed them
/// (docs/membership.md). A room has at most one.
struct PendingChange: Sendable, Equatable {
    /// What one call does.
    struct Act: Sendable, Equatable {
        enum Kind: String, Sendable { case addition, removal, role }

        let kind: Kind
        /// The version with which it was stored, which no other act of the room has.
        var version = 0
        /// The person who made the call.
        let by: String
        /// The people who come, leave, or get another role.
        let people: [PeopleChange.Leaver]
        /// Who became an owner, as the last one leaves.
        var heir: String?
        /// True for an addition that was not confirmed in time: its people go again, without an event.
        var isTakenBack = false
        /// True for a removal whose call was answered before it was complete. One more call may take its place.
        var isUnanswered = false
        var ids: [String] { people.map(\.userID) }
    }

    let roomID: String
    /// The version of the record with these changes.
    var version: Int
    var acts: [Act]
    /// The number of the last entry of Rooms' log when it was stored; nil if it is not stored, or by an earlier program.
    var storedAfter: Int?

    /// The people who come with it, in order.
    var joined: [String] { acts.filter { $0.kind == .addition && !$0.isTakenBack }.flatMap(\.ids) }
    var left: [PeopleChange.Leaver] { acts.filter { $0.kind == .removal || $0.isTakenBack }.flatMap(\.people) }

    /// Returns what keepers and gateways confirm.
    func change(isLast: Bool) -> PeopleChange {
        PeopleChange(
            roomID: roomID, version: version, joined: joined, left: left, isLast: isLast, storedAfter: storedAfter)
    }

    /// Returns true if it has the last act of another one, which was stored before or at the same time.
    func has(_ other: PendingChange) -> Bool {
        guard let wanted = other.acts.last else { return false }
        return acts.contains { $0.version == wanted.version && $0.isTakenBack == wanted.isTakenBack }
    }

    /// Notes who became an owner when its last removal was complete.
    mutating func appoint(_ heir: String) {
        if let index = acts.lastIndex(where: { $0.kind == .removal }) { acts[index].heir = heir }
    }

    /// Takes back the addition that was stored with a version.
    ///
    /// - Returns: the people who go again; none if there is no such addition.
    mutating func takeBack(_ added: Int) -> [String] {
        guard let index = acts.firstIndex(where: { $0.version == added && $0.kind == .addition && !$0.isTakenBack })
        else { return [] }
        acts[index].isTakenBack = true
        version += 1
        return acts[index].ids
    }

    /// Returns the index of the act that removes a person.
    func removal(of userID: String) -> Int? { acts.firstIndex { $0.kind == .removal && $0.ids.contains(userID) } }

    // MARK: As a row

    var actsJSON: JSONValue {
        JSONWriter.value {
            $0.array(of: acts) { json, act in
                json.object {
                    $0.member("kind", act.kind.rawValue)
                    $0.member("version", act.version)
                    $0.member("by", act.by)
                    $0.member("heir", act.heir)
                    if act.isTakenBack { $0.member("isTakenBack", true) }
                    if act.isUnanswered { $0.member("isUnanswered", true) }
                    $0.member(
                        "change", PeopleChange(roomID: roomID, version: version, left: act.people).json)
                }
            }
        }
    }

    init(roomID: String, version: Int, acts: [Act]) {
        self.roomID = roomID
        self.version = version
        self.acts = acts
    }

    /// Parses a row; acts of an unknown kind are left out.
    init(roomID: String, version: Int, actsJSON: JSONValue, storedAfter: Int?) {
        self.init(roomID: roomID, version: version, acts: actsJSON.array?.compactMap(Self.act) ?? [])
        self.storedAfter = storedAfter
    }

    private static func act(_ json: JSONValue) -> Act? {
        guard let kind = json["kind"]?.string.flatMap(Act.Kind.init), let by = json["by"]?.string,
            let change = json["change"].flatMap(PeopleChange.init)
        else { return nil }
        return Act(
            kind: kind, version: json["version"]?.int ?? 0, by: by, people: change.left, heir: json["heir"]?.string,
            isTakenBack: json["isTakenBack"]?.bool ?? false, isUnanswered: json["isUnanswered"]?.bool ?? false)
    }
}
