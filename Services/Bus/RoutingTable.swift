import Glibc
import ParlorMessageBus

/// The subscriptions of all peers: who gets a subject's events, and who a request.
struct RoutingTable {
    private var subscribers = SubscriptionIndex<BrokerSubscription>()
    private var responders = SubscriptionIndex<BrokerSubscription>()
    private var lastID: UInt64 = 0
    /// A counter that rises when events may have new receivers.
    private var version = 0
    /// A counter of messages to queue groups, whose members take turns.
    private var turn: UInt64 = 0

    /// - Returns: the key to `remove`.
    mutating func insert(
        _ subscription: BrokerSubscription, pattern: String, queue: String?, isServing: Bool
    ) -> BrokerPeer.Held {
        lastID += 1
        let instance = subscription.peer.id
        if isServing {
            responders.insert(subscription, id: lastID, pattern: pattern, queue: queue, instance: instance)
        } else {
            version += 1
            subscribers.insert(subscription, id: lastID, pattern: pattern, queue: queue, instance: instance)
        }
        return BrokerPeer.Held(id: lastID, isServing: isServing)
    }

    mutating func remove(_ held: BrokerPeer.Held) {
        if held.isServing {
            responders.remove(held.id)
        } else {
            version += 1
            subscribers.remove(held.id)
        }
    }

    /// Returns the route of a subject's events.
    ///
    /// - Parameter bytes: the subject's, as its publisher writes it.
    mutating func route(of subject: String, _ bytes: UnsafeRawBufferPointer) -> BrokerRoute {
        BrokerRoute(bytes, to: subscribers.match(subject), version: version)
    }

    /// Returns true if a route is this subject's, and no subscription has changed since.
    func isCurrent(_ route: BrokerRoute, of subject: UnsafeRawBufferPointer) -> Bool {
        guard version == route.version, subject.count == route.subject.count, let start = subject.baseAddress else {
            return false
        }
        return memcmp(start, route.subject, subject.count) == 0
    }

    /// Returns the member of a queue group that gets the next event.
    mutating func receiver(in group: QueueGroup<BrokerSubscription>) -> BrokerSubscription {
        turn += 1
        return group.pick(key: nil, turn: turn)
    }

    /// Returns the responder of a request; nil if the subject has none.
    ///
    /// - Parameter key: evaluated only if there are several.
    mutating func responder(of subject: String, key: @autoclosure () -> UInt64?) -> BrokerSubscription? {
        guard let group = responders.match(subject).groups.first else { return nil }
        turn += 1
        return group.pick(key: key(), turn: turn)
    }
}

/// The receivers of a subject's events, valid while the subscriptions do not change.
struct BrokerRoute {
    let match: SubscriptionIndex<BrokerSubscription>.Match
    /// The part of each receiver's line between the subscription's number and the data.
    let middle: [UInt8]
    fileprivate let subject: [UInt8]
    fileprivate let version: Int

    fileprivate init(
        _ subject: UnsafeRawBufferPointer, to match: SubscriptionIndex<BrokerSubscription>.Match, version: Int
    ) {
        self.match = match
        self.version = version
        self.subject = Array(subject)
        var middle: [UInt8] = []
        middle += #","subject":""#
        middle += subject
        middle += #"","data":"#
        self.middle = middle
    }
}
