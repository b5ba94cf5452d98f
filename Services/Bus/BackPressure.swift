/// For a peer whose output the kernel does not take: the bytes queued by each sender, and the held senders.
struct Backlog {
    private var bytesBySender: [UInt64: Int] = [:]
    /// The senders that wait for this peer.
    fileprivate(set) var held: [BrokerPeer] = []

    /// - Returns: the bytes that this sender has queued.
    fileprivate mutating func add(_ count: Int, by sender: BrokerPeer) -> Int {
        bytesBySender[sender.id, default: 0] += count
        return bytesBySender[sender.id, default: 0]
    }
}

/// Stops reading from a sender that outpaces a receiver, until the receiver catches up. The sender's lines then wait in
/// the sender's own buffers, and the receiver's queue keeps room for lines of others.
///
/// The sender's lines for other receivers wait as well, so a hold lasts at most `maxHold`. After one that has timed out,
/// no sender is held for this receiver during `holdPause`. If its queue fills up then, the receiver is disconnected.
/// Replies are not counted, because their requesters asked for them.
struct BackPressure {
    /// The time until which senders wait for a receiver.
    private struct Hold {
        let receiver: BrokerPeer
        let deadline: Duration
    }

    private let settings: BrokerSettings
    /// In the order of their deadlines.
    private var holds: [Hold] = []
    private var resumed: [BrokerPeer] = []

    init(_ settings: BrokerSettings) { self.settings = settings }

    /// The time at which `expire` must be called.
    var nextExpiry: Duration? { holds.first?.deadline }

    /// Called for each line to a receiver whose earlier output the kernel has not taken.
    ///
    /// - Returns: true if the sender waits for the receiver from now on.
    mutating func noteQueued(_ count: Int, for receiver: BrokerPeer, by sender: BrokerPeer, at now: Duration) -> Bool {
        guard sender !== receiver, receiver.phase == .open, now >= receiver.noHoldBefore,
            receiver.backlog.add(count, by: sender) > settings.maxUnsentBytesBySender,
            !receiver.backlog.held.contains(where: { $0 === sender })
        else { return false }
        if receiver.backlog.held.isEmpty { holds.append(Hold(receiver: receiver, deadline: now + settings.maxHold)) }
        receiver.backlog.held.append(sender)
        sender.waitsFor += 1
        return true
    }

    /// Called when the kernel has taken a peer's output, and when the peer is gone.
    mutating func noteDrained(_ peer: BrokerPeer) {
        release(peer)
        peer.backlog = Backlog()
    }

    mutating func expire(at now: Duration) {
        while let hold = holds.first, hold.deadline <= now {
            release(hold.receiver)
            hold.receiver.noHoldBefore = now + settings.holdPause
        }
    }

    private mutating func release(_ receiver: BrokerPeer) {
        guard !receiver.backlog.held.isEmpty else { return }
        holds.removeAll { $0.receiver === receiver }
        for sender in receiver.backlog.held {
            sender.waitsFor -= 1
            if sender.waitsFor == 0 { resumed.append(sender) }
        }
        receiver.backlog.held = []
    }

    /// Returns the senders whose last hold has ended since the previous call.
    mutating func takeResumed() -> [BrokerPeer] {
        defer { resumed.removeAll() }
        return resumed
    }
}
