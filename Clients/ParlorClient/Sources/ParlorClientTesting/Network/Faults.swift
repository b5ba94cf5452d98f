import ParlorClient

/// The faults of one device's network, and the packets that it holds. It does no I/O.
struct Faults: Sendable {
    private struct Running: Sendable {
        var chaos: Chaos
        var generator: SeededGenerator
    }

    var isOffline = false
    /// How many of the next requests do not reach the server.
    var requestsToLose = 0
    /// The next answers to lose. Each says whether its socket ends, too.
    var answersToLose: [LostAnswer] = []
    var earlyAcks = 0
    var eventsToDouble = 0
    var packetsUntilDrop: Int?
    var answerDelay: Duration = .zero
    /// The answers that the next HTTP requests get in place of the server's.
    var foreignAnswers: [HTTPResponse] = []
    var holdsAcks = false
    private(set) var isHeld: (@Sendable (String) -> Bool)?
    private(set) var held: [Gateway.Delivery] = []
    private var running: Running?

    /// An answer that does not arrive.
    struct LostAnswer: Sendable {
        var dropsSocket = true
    }

    struct Passage {
        var packets: [Gateway.Delivery] = []
        var dropsSocket = false
    }

    mutating func hold(_ isHeld: @escaping @Sendable (String) -> Bool) { self.isHeld = isHeld }

    /// Holds no more packets, and returns the held ones.
    mutating func release(_ order: ReleaseOrder) -> [Gateway.Delivery] {
        isHeld = nil
        holdsAcks = false
        defer { held = [] }
        switch order {
        case .asSent: return held
        case .reversed: return held.reversed()
        case .shuffled(let seed):
            var generator = SeededGenerator(seed: seed)
            return held.shuffled(using: &generator)
        }
    }

    mutating func start(_ chaos: Chaos, seed: UInt64) {
        running = Running(chaos: chaos, generator: SeededGenerator(seed: seed))
    }

    mutating func stopChaos() { running = nil }

    /// Drops the packets that are held for a socket which has ended.
    mutating func forget(_ socketID: Int) { held.removeAll { $0.socketID == socketID } }

    mutating func losesRequest() -> Bool { takes(\.requestsToLose) || happens(\.lostRequests) }

    /// Returns how the next answer is lost; nil if it arrives.
    mutating func loseAnswer() -> LostAnswer? {
        if !answersToLose.isEmpty { return answersToLose.removeFirst() }
        return happens(\.lostAnswers) ? LostAnswer() : nil
    }

    mutating func sendsAckFirst() -> Bool { takes(\.earlyAcks) || happens(\.earlyAcks) }

    /// Returns the packets that arrive when the server sends this one, and whether the socket then ends.
    mutating func pass(_ packet: Gateway.Delivery) -> Passage {
        if let count = packetsUntilDrop {
            packetsUntilDrop = count > 0 ? count - 1 : nil
            if count == 0 { return Passage(dropsSocket: true) }
        }
        var passage = Passage()
        switch packet.kind {
        case .control: passage.packets = takeAllLate(on: packet.socketID) + [packet]
        case .ack:
            if let lost = loseAnswer() { return Passage(dropsSocket: lost.dropsSocket) }
            if holdsAcks { held.append(packet) } else { passage.packets = [packet] }
        case .event(let name):
            if isHeld?(name) == true || happens(\.lateEvents) {
                held.append(packet)
            } else {
                passage.packets = [packet]
                if takes(\.eventsToDouble) || happens(\.doubledEvents) { passage.packets.append(packet) }
            }
        }
        if isHeld == nil, !holdsAcks { passage.packets += takeLate() }
        passage.dropsSocket = happens(\.drops)
        return passage
    }

    /// Takes a socket's late packets, to deliver them before a control packet. That packet may be the end of a replay,
    /// which brings a new cursor. The cursor counts the late packets as received, so they must not come after it.
    private mutating func takeAllLate(on socketID: Int) -> [Gateway.Delivery] {
        guard running != nil, isHeld == nil, !holdsAcks else { return [] }
        let arriving = held.filter { $0.socketID == socketID }
        forget(socketID)
        return arriving
    }

    /// Takes some of the late packets at random. Each arrives with one of the next packets.
    private mutating func takeLate() -> [Gateway.Delivery] {
        guard running != nil else { return [] }
        var arriving: [Gateway.Delivery] = []
        var waiting: [Gateway.Delivery] = []
        for packet in held {
            if running?.generator.happens(0.3) == true { arriving.append(packet) } else { waiting.append(packet) }
        }
        held = waiting
        return arriving
    }

    private mutating func takes(_ count: WritableKeyPath<Faults, Int>) -> Bool {
        guard self[keyPath: count] > 0 else { return false }
        self[keyPath: count] -= 1
        return true
    }

    private mutating func happens(_ rate: KeyPath<Chaos, Double>) -> Bool {
        guard let chaos = running?.chaos else { return false }
        return running?.generator.happens(chaos[keyPath: rate]) == true
    }
}
