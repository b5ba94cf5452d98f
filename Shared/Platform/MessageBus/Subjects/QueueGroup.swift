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

/// Highest random weight hashing (Thaler and Ravishankar, 1998): each key ranks the members in an order of its own and
/// takes the first. When a member goes, only its own keys move, and they spread over all that stay.
package enum RendezvousHash {
    package static func weight(key: UInt64, member: UInt64) -> UInt64 {
        mix(key ^ mix(member))
    }

    /// FNV-1a: one result in every process and run, unlike `Hasher`.
    package static func hash(_ key: String) -> UInt64 {
        var key = key
        return key.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
    }

    /// The same of its UTF-8.
    package static func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in key { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }

    /// The finalizer of SplitMix64: members are small numbers in sequence, and every bit of them has to matter.
    private static func mix(_ value: UInt64) -> UInt64 {
        var value = value &+ 0x9e37_79b9_7f4a_7c15
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
