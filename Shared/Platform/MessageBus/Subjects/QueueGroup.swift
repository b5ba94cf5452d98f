/// The subscriptions of one queue that match a subject. Each message goes to one of them.
package struct QueueGroup<Subscriber> {
    package struct Member {
        let id: UInt64
        let instance: UInt64
        package let subscriber: Subscriber
    }

    package let queue: String
    /// The members; never empty.
    package internal(set) var members: [Member]

    /// Returns the member for a key, or the next in turn without one.
    ///
    /// - Parameters:
    ///   - key: evaluated only if there are several members.
    ///   - turn: a counter of messages.
    package func pick(key: @autoclosure () -> UInt64?, turn: UInt64) -> Subscriber {
        guard members.count > 1 else { return members[0].subscriber }
        guard let key = key() else { return members[Int(turn % UInt64(members.count))].subscriber }
        // Two subscriptions of one instance have the same weight, so their ids decide.
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

/// Highest random weight hashing (Thaler and Ravishankar, 1998). Each member has a different weight for each
/// key, and the key goes to the heaviest. When a member leaves, only its own keys move, and they spread over
/// all that remain.
package enum RendezvousHash {
    package static func weight(key: UInt64, member: UInt64) -> UInt64 {
        mix(key ^ mix(member))
    }

    /// Returns the FNV-1a hash, which is the same in every process and run, unlike `Hasher`.
    package static func hash(_ key: String) -> UInt64 {
        var key = key
        return key.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
    }

    /// Returns the FNV-1a hash of UTF-8 bytes.
    package static func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in key { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }

    /// Mixes the bits (the finalizer of SplitMix64): members are small consecutive numbers, and every bit of
    /// them has to count.
    private static func mix(_ value: UInt64) -> UInt64 {
        var value = value &+ 0x9e37_79b9_7f4a_7c15
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
