/// The subscriptions of one queue that match a subject: each message goes to one of them.
package struct QueueGroup<Subscriber> {
    package struct Member {
        let id: UInt64
        let instance: UInt64
        package let subscriber: Subscriber
    }

    package let queue: String
    /// Never empty.
    package internal(set) var members: [Member]

    /// The member for a key, or the next in turn without one.
    ///
    /// - Parameters:
    ///   - key: asked for only where there is a choice.
    ///   - turn: counts up from message to message.
    package func pick(key: @autoclosure () -> UInt64?, turn: UInt64) -> Subscriber {
        guard members.count > 1 else { return members[0].subscriber }
        guard let key = key() else { return members[Int(turn % UInt64(members.count))].subscriber }
        // Two subscriptions of one instance weigh the same; then they decide among themselves.
        func weight(_ member: Member) -> (UInt64, UInt64) {
            (
                RendezvousHash.weight(key: key, member: member.instance),
                RendezvousHash.weight(key: key, member: member.id)
            )
        }
        var best = members[0]
        for member in members.dropFirst() where weight(member) > weight(best) { best = member }
        return best.subscriber
    }
}
