import ParlorContracts
import ParlorEventLog
import ParlorReactor
import ParlorSocketIO

/// The subscribers of one loop, by room, by person, and all of them. It stays on its loop.
///
/// It uses arrays, as they are iterated for every event and rarely change; each subscriber stores its index
/// in the longest one.
final class Audience {
    private(set) var everyone: [Subscriber] = []
    /// The subscribers that are being caught up: they are sent what they missed, and nothing else yet.
    var recovering: [Subscriber] = []
    /// True while this gateway is cut off: who has left rooms meanwhile is not known.
    var isCutOff = false
    private var people: [String: [Subscriber]] = [:]
    private var rooms: [String: [Subscriber]] = [:]

    func person(_ id: String) -> [Subscriber] { people[id] ?? [] }
    func room(_ id: String) -> [Subscriber] { rooms[id] ?? [] }

    func hasPerson(_ id: String) -> Bool { people[id] != nil }
    func hasRoom(_ id: String) -> Bool { rooms[id] != nil }

    func add(_ subscriber: Subscriber) {
        subscriber.everyoneIndex = everyone.count
        everyone.append(subscriber)
        people[subscriber.caller.id, default: []].append(subscriber)
    }

    /// Removes a subscriber. Does nothing if it is not in the audience, like one that is still being caught up.
    func remove(_ subscriber: Subscriber) {
        guard let index = subscriber.everyoneIndex else { return }
        subscriber.everyoneIndex = nil
        for roomID in subscriber.rooms.keys { leave(roomID, subscriber) }
        Self.remove(subscriber, from: &people, subscriber.caller.id)
        let last = everyone.removeLast()
        if last !== subscriber {
            everyone[index] = last
            last.everyoneIndex = index
        }
    }

    /// - Parameter version: that of the record that admits the subscriber's person.
    func join(_ roomID: String, _ subscriber: Subscriber, recordVersion version: Int) {
        let known = subscriber.rooms[roomID]
        subscriber.rooms[roomID] = max(known ?? 0, version)
        if known == nil { rooms[roomID, default: []].append(subscriber) }
    }

    func leave(_ roomID: String, _ subscriber: Subscriber) {
        if subscriber.rooms.removeValue(forKey: roomID) != nil { Self.remove(subscriber, from: &rooms, roomID) }
    }

    private static func remove(_ subscriber: Subscriber, from lists: inout [String: [Subscriber]], _ key: String) {
        lists[key]?.removeAll { $0 === subscriber }
        if lists[key]?.isEmpty == true { lists[key] = nil }
    }
}

extension Audience {
    /// Returns all sockets of these people, also those that are being caught up.
    func sockets(of userIDs: [String]) -> [Subscriber] {
        let set = Set(recovering.isEmpty ? [] : userIDs)
        return userIDs.flatMap(person) + recovering.filter { set.contains($0.caller.id) }
    }

    /// Returns those of the sockets that get an event of a room. While this gateway is cut off, these are none: the sockets are
    /// closed instead, and get the event when they have connected again, if it is still theirs.
    func receivers(of roomID: String, _ subscribers: [Subscriber]) -> [Subscriber] {
        guard isCutOff, !roomID.isEmpty else { return subscribers }
        Self.abandonWaiting(subscribers, orAll: true)
        return []
    }

    /// Closes the sockets whose output waits, and drops that output.
    static func abandonWaiting(_ subscribers: [Subscriber], orAll all: Bool = false) {
        for subscriber in subscribers where all || subscriber.socket.unsentCost > 0 {
            subscriber.socket.abandonTransport()
        }
    }

    /// Returns the sockets that have joined a room for a person.
    ///
    /// - Parameter layout: that of the service's logs, in which the room has one.
    func evidence(
        for member: OpenRoomsRequest.Member, ofLogsOf service: String, _ layout: LogLayout
    ) -> [SocketEvidence] {
        let logID = LogID(service, layout.number(ofRoom: member.roomID))
        let now = LoopInstant.now()
        return room(member.roomID).lazy.filter { $0.caller.id == member.userID }.prefix(OpenRoomsRequest.maxSockets)
            .map { subscriber in
                SocketEvidence(
                    age: (now - subscriber.liveness.lastActiveAt).milliseconds,
                    confirmed: EntryPosition(log: logID, seq: subscriber.liveness.confirmed(of: logID)).key)
            }
    }
}

extension Audience: BroadcastReceivers {
    func send(_ batch: OutgoingBatch, to receivers: ArraySlice<Subscriber>) {
        for subscriber in receivers where subscriber.everyoneIndex != nil { subscriber.socket.send(batch) }
    }
}
