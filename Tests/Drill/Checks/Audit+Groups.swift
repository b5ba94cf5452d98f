extension Audit {
    /// Compares who is in a group: as its owner knows, as the services have stored, and as the clients were notified.
    mutating func checkGroups() {
        if books.pendingChanges > 0 { report.fault("\(books.pendingChanges) changes of people are left pending") }
        for roomID in participants.groups {
            let people = Set(participants.rooms[roomID] ?? [])
            compare(people, books.groups[roomID] ?? [], "the rooms service", roomID)
            for (key, _) in books.unread where key.a == roomID && !people.contains(key.b) {
                report.fault("messaging counts for \(key.b), who has left group \(roomID)")
            }
            compare(
                people.intersection(logs.keys), Set(logs.filter { $0.value.groups.contains(roomID) }.keys),
                "what clients received", roomID)
            compare(
                people, Set(shown.filter { $0.value[roomID] != nil }.keys), "the lists of rooms", roomID)
        }
    }

    private mutating func compare(_ people: Set<String>, _ found: Set<String>, _ place: String, _ roomID: String) {
        for person in people.subtracting(found) { report.fault("\(person) is not in group \(roomID) by \(place)") }
        for person in found.subtracting(people) { report.fault("\(person) is still in group \(roomID) by \(place)") }
    }
}

extension Report {
    mutating func add(_ log: GroupOwner.Log, _ books: StoredState) {
        additions += log.additions
        removals += log.removals
        deletedRooms += log.deletedRooms.count
        longestChange = max(longestChange, log.longestChange)
        for fault in log.faults { self.fault(fault) }
        for roomID in log.deletedRooms where books.has(roomID) { fault("something is left of room \(roomID)") }
    }

    mutating func add(_ removals: Removals) {
        let violations = removals.violations
        afterRemoval += violations.count
        // Before the others: the list of faults is limited.
        faults.insert(contentsOf: violations.faults, at: 0)
    }
}

extension StoredState {
    /// True if a service has anything of a room but its messages, which are deleted in the background.
    fileprivate func has(_ roomID: String) -> Bool {
        groups[roomID] != nil || elementCounts[roomID] != nil || unread.keys.contains { $0.a == roomID }
            || unseen.keys.contains { $0.a == roomID }
    }
}
