import Reactor
import SocketIO

/// `:global` events that wait to be told to everyone at once.
struct WaitingGlobals {
    private(set) var packets: [OutgoingPacket] = []
    private(set) var byteCount = 0
    /// From when a crowd is about to be told until the pause after that is over.
    var isPausing = false
    var pause: LoopTimer?
    /// How long the last telling took, and when its output was written.
    var telling: Duration = .zero
    var toldAt = LoopInstant(nanoseconds: 0)
    /// Whether the end of this turn, or the loop's next idle turn, looks if the pause can end.
    var isLooking = false
    var awaitsIdleTurn = false
    /// Sockets are about to be closed: nothing can wait.
    var isEnding = false
    /// When somebody last connected, joined or asked for something that takes more than an ack.
    var lastVisit = LoopInstant(nanoseconds: 0)

    /// Whether so many times of what the last telling took are over since then. Not while a crowd is being told.
    func hasRested(_ factor: Double) -> Bool { pause != nil && LoopInstant.now() - toldAt >= telling * factor }

    mutating func append(_ packet: OutgoingPacket) {
        packets.append(packet)
        byteCount += packet.bytes.count
    }

    mutating func takeAll() -> [OutgoingPacket] {
        defer {
            packets = []
            byteCount = 0
        }
        return packets
    }
}

/// From how many sockets on a loop on `:global` events are told together, and what for.
struct Crowd {
    /// To tell so many takes about a millisecond.
    var size = 256
    /// The pause, in times of what telling took, and its bounds.
    var restFactor = 4
    /// Both in the same measure: the short one is for what has come meanwhile to be read, which is under way then.
    /// Telling takes twenty twenty-firsts of a loop's time at most, and half of it while something is under way.
    var shortRest = 0.05
    var longRest = 1.0
    var shortestPause: Duration = .zero
    var longestPause: Duration = .milliseconds(500)
    /// If nobody has come for so long, a pause ends after a short rest once nothing that was asked on the loop is under way, or after a long
    /// one once the loop has nothing else to do.
    var lull: Duration = .milliseconds(100)
}

// `:global` events. To tell thousands of sockets takes tens of milliseconds, nearly all of it system calls, one for each socket
// however much it is sent. So there is a pause after each time, and what comes meanwhile goes out together: senders, and
// people in rooms, wait behind it seldom.
//
// Where nothing is under way a pause spares few, and what is under way will mostly have to be told, too: so a pause ends when the last of it
// is done, and those who were told a moment ago have their next say together. But a loop that waits for services on behalf of people who
// come back, thousands at once after an outage, only looks idle: telling would take the core that those services need.
extension Shard {
    /// It goes out, pause or not: much more at a time would make slow readers of everyone.
    private static let maxWaitingBytes = 64 * 1024

    /// Somebody came who waits for more than an ack.
    func noteVisit() { globals.lastVisit = loop.now }

    /// Tells every socket, now or when the pause is over, in the order of the calls.
    func tellEveryone(_ packet: OutgoingPacket) {
        globals.append(packet)
        if globals.isPausing {
            if globals.byteCount > Self.maxWaitingBytes { tellGlobals() } else { endPauseIfAllIsDone() }
        } else if globals.isEnding || audience.everyone.count <= context.crowd.size {
            tellGlobals()
        } else {
            tellCrowd()
        }
    }

    /// Tells what waits, and from then on everything at once: the sockets are about to be closed.
    func endGlobals() {
        globals.isEnding = true
        globals.isPausing = false
        tellGlobals()
    }

    private func tellGlobals() {
        guard !globals.packets.isEmpty else { return }
        let batch = OutgoingBatch(globals.takeAll())
        for client in audience.everyone { client.socket.send(batch) }
    }

    /// Tells all that this turn brings, at its end.
    private func tellCrowd() {
        globals.isPausing = true
        loop.atEndOfTurn { [weak self] in
            self?.assumeIsolated { shard in
                let start = LoopInstant.now()
                shard.tellGlobals()
                // It comes in the next turn, which begins when this one's output is written.
                _ = shard.loop.schedule(after: .zero) { [weak shard] in
                    shard?.assumeIsolated { $0.pauseGlobals(after: .now() - start) }
                }
            }
        }
    }

    private func pauseGlobals(after telling: Duration) {
        let crowd = context.crowd
        let pause = min(max(telling * crowd.restFactor, crowd.shortestPause), crowd.longestPause)
        globals.pause = loop.schedule(after: pause) { [weak self] in self?.assumeIsolated { $0.endPause() } }
        (globals.telling, globals.toldAt) = (telling, .now())
        // One that comes late, in the next pause, finds that it is too early for that.
        loop.schedule(after: telling * crowd.shortRest) { [weak self] in
            self?.assumeIsolated { $0.endPauseIfAllIsDone() }
        }
        loop.schedule(after: telling * crowd.longRest) { [weak self] in
            self?.assumeIsolated { $0.endPauseWhenIdle() }
        }
    }

    /// Nobody has come of late.
    private var isLull: Bool { loop.now - globals.lastVisit >= context.crowd.lull }

    private func endPauseWhenIdle() {
        guard !globals.awaitsIdleTurn else { return }
        globals.awaitsIdleTurn = true
        loop.whenIdle { [weak self] in
            self?.assumeIsolated { shard in
                shard.globals.awaitsIdleTurn = false
                // Somebody may have come since, or it is another pause.
                if shard.globals.hasRested(shard.context.crowd.longRest), shard.isLull { shard.endPause() }
            }
        }
    }

    /// Ends the pause with this turn, if it was a rest already, nobody has come of late, and nothing is under way then whose echo could be
    /// told with what waits.
    func endPauseIfAllIsDone() {
        guard !globals.isLooking, !globals.packets.isEmpty, globals.hasRested(context.crowd.shortRest) else { return }
        globals.isLooking = true
        loop.atEndOfTurn { [weak self] in
            self?.assumeIsolated { shard in
                shard.globals.isLooking = false
                if shard.underWay == 0, shard.isLull { shard.endPause() }
            }
        }
    }

    private func endPause() {
        // Without a timer the crowd is still being told.
        guard globals.isPausing, globals.pause != nil else { return }
        globals.isPausing = false
        globals.pause?.cancel()
        globals.pause = nil
        if !globals.packets.isEmpty { tellCrowd() }
    }
}
