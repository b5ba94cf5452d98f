import ParlorContracts

// Events to people who are not participants of the entry's room, and the search for them in a log.
extension Emission {
    /// True if the event goes to a person who is not a participant, and so would not find it among the entries of their
    /// rooms. False for an event that composes badges, as badges belong to the room.
    func isMissed(by participants: some Collection<String>) -> Bool {
        guard case .person(let id) = audience, composition != .badges else { return false }
        return !participants.contains(id)
    }

    /// Returns a pattern for `LIKE` that matches the JSON of emissions with an event to a person.
    ///
    /// ASCII letters, digits and `-` of the id stay. Any other character becomes `%`, because JSON may escape it, and
    /// a pattern may give it a meaning. So the pattern may match events to others, too.
    static func pattern(_ userID: String) -> String {
        let id = userID.unicodeScalars.map { scalar in
            scalar == "-" || scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                ? String(scalar) : "%"
        }
        return "%\"person\":\"\(id.joined())\"%"
    }
}

extension LogEntry {
    /// The people to whom events of this entry go. The events are not decoded for it.
    public var namedPeople: [String] { emissionsJSON.strings(namedInElements: "person") }
}

extension [Emission] {
    /// Separates the events that people would miss (`isMissed`) from those of the room. Both keep their order. Returns
    /// nil if nobody would miss an event, which is the usual case.
    func split(by participants: [String]) -> (inRoom: [Emission], missed: [Emission])? {
        // With few emissions, and two participants in a room, searching the array is cheaper than making a set.
        if count <= 32, !contains(where: { $0.isMissed(by: participants) }) { return nil }
        let people = Set(participants)
        let missed = filter { $0.isMissed(by: people) }
        return missed.isEmpty ? nil : (filter { !$0.isMissed(by: people) }, missed)
    }
}
