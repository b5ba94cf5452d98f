import SocketIO

/// The subscribers of one loop, by room, by person, and all of them. It stays on its loop.
///
/// Arrays, because they are walked for every event and changed seldom; a subscriber's index in the longest one is kept.
final class Audience {
    private(set) var everyone: [Subscriber] = []
    private var people: [String: [Subscriber]] = [:]
    private var rooms: [String: [Subscriber]] = [:]

    func person(_ id: String) -> [Subscriber] { people[id] ?? [] }
    func room(_ id: String) -> [Subscriber] { rooms[id] ?? [] }

    func add(_ subscriber: Subscriber) {
        subscriber.everyoneIndex = everyone.count
        everyone.append(subscriber)
        people[subscriber.caller.id, default: []].append(subscriber)
    }

    /// One that is not in it, as it was not caught up yet, is passed over.
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

extension Audience: BroadcastReceivers {
    var count: Int { everyone.count }

    func send(_ batch: OutgoingBatch) { for subscriber in everyone { subscriber.socket.send(batch) } }
}
