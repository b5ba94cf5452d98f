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
        for roomID in subscriber.rooms { leave(roomID, subscriber) }
        Self.remove(subscriber, from: &people, subscriber.caller.id)
        let last = everyone.removeLast()
        if last !== subscriber {
            everyone[index] = last
            last.everyoneIndex = index
        }
    }

    func join(_ roomID: String, _ subscriber: Subscriber) {
        if subscriber.rooms.insert(roomID).inserted { rooms[roomID, default: []].append(subscriber) }
    }

    func leave(_ roomID: String, _ subscriber: Subscriber) {
        if subscriber.rooms.remove(roomID) != nil { Self.remove(subscriber, from: &rooms, roomID) }
    }

    private static func remove(_ subscriber: Subscriber, from lists: inout [String: [Subscriber]], _ key: String) {
        lists[key]?.removeAll { $0 === subscriber }
        if lists[key]?.isEmpty == true { lists[key] = nil }
    }
}

extension Audience {
    /// Returns all sockets of these people, also those that are being caught up.
    func sockets(of userIDs: [String]) -> [Subscriber] {
        userIDs.flatMap(person) + recovering.filter { userIDs.contains($0.caller.id) }
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
