import Glibc
import MessageBus

/// Whom the events on a subject go to, as long as subscriptions stay as they are.
struct BrokerRoute {
    let match: SubscriptionIndex<BrokerSubscription>.Match
    /// What stands in each of their lines between the subscription's number and the data.
    let middle: [UInt8]
    private let subject: [UInt8]
    private let version: Int

    /// - Parameter version: `Broker.routesVersion`.
    init(_ subject: UnsafeRawBufferPointer, to match: SubscriptionIndex<BrokerSubscription>.Match, version: Int) {
        self.match = match
        self.version = version
        self.subject = Array(subject)
        var middle: [UInt8] = []
        middle += #","subject":""#
        middle += subject
        middle += #"","data":"#
        self.middle = middle
    }

    func isOf(_ subject: UnsafeRawBufferPointer, version: Int) -> Bool {
        guard version == self.version, subject.count == self.subject.count, let start = subject.baseAddress else {
            return false
        }
        return memcmp(start, self.subject, subject.count) == 0
    }
}
