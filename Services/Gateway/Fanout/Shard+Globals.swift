import Reactor
import SocketIO

/// `:global` events that wait to be told to everyone at once.
struct WaitingGlobals {
    private(set) var packets: [OutgoingPacket] = []
    private(set) var byteCount = 0
    /// Set while no more are told.
    var pause: LoopTimer?

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

// `:global` events. To tell thousands of sockets takes tens of milliseconds, nearly all of it system calls, one for each socket
// however much it is sent. So there is a pause after each time, and what comes meanwhile goes out together: senders, and
// people in rooms, do not wait behind it.
extension Shard {
    /// The pause, in times of what telling took.
    private static let restFactor = 4
    private static let longestPause: Duration = .milliseconds(500)
    /// It goes out, pause or not: much more at a time would make slow readers of everyone.
    private static let maxWaitingBytes = 64 * 1024

    /// Tells every socket, now or within a pause, in the order of the calls.
    func tellEveryone(_ packet: OutgoingPacket) {
        globals.append(packet)
        if globals.pause == nil || globals.byteCount > Self.maxWaitingBytes { tellGlobals() }
    }

    private func tellGlobals() {
        let start = LoopInstant.now()
        let clients = audience.everyone
        for packet in globals.takeAll() { for client in clients { client.socket.send(packet) } }
        guard clients.count > context.crowd, globals.pause == nil else { return }
        // The next turn begins when this one's output is written.
        globals.pause = loop.schedule(after: .zero) { [weak self] in
            self?.assumeIsolated { $0.pauseGlobals(for: min((.now() - start) * Self.restFactor, Self.longestPause)) }
        }
    }

    private func pauseGlobals(for time: Duration) {
        globals.pause = loop.schedule(after: time) { [weak self] in
            self?.assumeIsolated {
                $0.globals.pause = nil
                if !$0.globals.packets.isEmpty { $0.tellGlobals() }
            }
        }
    }
}
