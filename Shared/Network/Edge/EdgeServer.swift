import ParlorReactor
import ParlorSecurity

/// HTTP, WebSocket and Socket.IO on one port, served by all the loops of a group.
///
/// Each loop has its own connections, sessions and delegates, and shares none of them. A session stays on the
/// loop that made it; a request that arrives on another one is moved there with its connection.
public final class EdgeServer: Sendable {
    /// The application on one loop. A server without a Socket.IO endpoint needs no second one.
    public typealias Delegates = (requests: any RequestDelegate, sockets: (any SocketDelegate)?)

    public let port: UInt16
    public let counters: EdgeCounters
    private let usage: ClientUsage
    private let listener: TCPListener
    private let loops: [LoopBound<EdgeLoop>]

    /// Starts a server, which listens at once.
    ///
    /// - Parameter port: 0 for one that the system picks.
    /// - Parameter makeDelegates: called once on each loop.
    public static func start(
        host: String, port: UInt16, on group: EventLoopGroup, configuration: EdgeConfiguration,
        randomness: any Randomness = SystemRandomness(),
        onAcceptError: @escaping @Sendable (SystemError) -> Void = { _ in },
        makeDelegates: @escaping @Sendable (EventLoop) -> Delegates
    ) async throws(ListenError) -> EdgeServer {
        let usage = ClientUsage(configuration.limits)
        let counters = EdgeCounters(usage)
        let evictions = Evictions(loopCount: group.loops.count)
        var loops: [LoopBound<EdgeLoop>] = []
        for loop in group.loops {
            loops.append(
                await loop.run {
                    let edge = EdgeLoop(
                        loop: loop, configuration: configuration, counters: counters, usage: usage,
                        evictions: evictions, randomness: randomness, delegates: makeDelegates(loop))
                    return LoopBound(edge, to: loop)
                })
        }
        let all = loops
        for bound in all { await bound.loop.run { bound.object.all = all } }
        let listener = try TCPListener.bind(
            host: host, port: port, on: group, receiveBuffer: EdgeLimits.receiveBuffer, onError: onAcceptError,
            refusal: { loop, peer in all[loop.index].object.admit(connectionFrom: peer.ip)?.answer },
            makeHandler: { channel in all[channel.loop.index].object.accept(channel) })
        return EdgeServer(listener: listener, loops: loops, counters: counters, usage: usage)
    }

    private init(listener: TCPListener, loops: [LoopBound<EdgeLoop>], counters: EdgeCounters, usage: ClientUsage) {
        self.usage = usage
        self.listener = listener
        self.loops = loops
        self.counters = counters
        port = listener.port
    }

    /// Shuts down in order: stops accepting, answers the open requests and closes their connections, closes
    /// WebSockets (1001) and answers held polls. Clients then reconnect, to another instance or the next one.
    ///
    /// Returns when all connections are closed, or after `deadline`; then the group can be shut down.
    public func drain(within deadline: Duration) async {
        listener.close()
        await withDiscardingTaskGroup { group in
            for bound in loops {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        bound.enqueue { $0.drain(within: deadline) { continuation.resume() } }
                    }
                }
            }
        }
        // Connections may remain at the deadline. If none remains, the counts must be zero.
        assert(counters.connections.value > 0 || usage.hasNoConnections, "clients that have gone are still counted")
    }
}

extension EventLoop {
    /// Runs a closure on the loop and returns its result.
    fileprivate func run<T: Sendable>(_ work: @escaping @Sendable () -> T) async -> T {
        await withCheckedContinuation { continuation in execute { continuation.resume(returning: work()) } }
    }
}
