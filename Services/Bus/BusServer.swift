import ParlorMessageBus
import ParlorReactor
import Synchronization

/// A broker that listens on a port, on a loop of its own.
///
/// It uses one loop: routing is one table, and a lock for it would cost more than a second thread gains.
public final class BusServer: Sendable {
    public let host: String
    public let port: UInt16
    private let group: EventLoopGroup
    private let listener: TCPListener
    private let bound: LoopBound<BrokerHost>
    private let latest: Counters

    /// The counters that the loop publishes.
    private final class Counters: Sendable {
        let value = Mutex(BrokerCounters())
    }

    /// Starts the server, which listens at once.
    ///
    /// - Parameters:
    ///   - port: 0 for one that the system picks.
    ///   - notify: called on the broker's loop; must not block.
    /// - Throws: `BusServerError`.
    public static func start(
        host: String, port: UInt16, settings: BrokerSettings = BrokerSettings(),
        notify: @escaping @Sendable (BrokerNotice) -> Void = { _ in }
    ) async throws(BusServerError) -> BusServer {
        if case .open = settings.access, !isLoopback(host) { throw .openWithoutToken(host) }
        let group: EventLoopGroup
        do throws(SystemError) {
            group = try EventLoopGroup(loopCount: 1)
        } catch {
            throw .failed("\(error)")
        }
        let loop = group.loops[0]
        let latest = Counters()
        let bound = await withCheckedContinuation { continuation in
            loop.execute {
                let broker = BrokerHost(settings: settings, loop: loop, notify: notify) { counters in
                    latest.value.withLock { $0 = counters }
                }
                continuation.resume(returning: LoopBound(broker, to: loop))
            }
        }
        do throws(ListenError) {
            let listener = try TCPListener.bind(host: host, port: port, on: group) { channel in
                BrokerConnection(channel, host: bound.object)
            }
            return BusServer(host: host, group: group, listener: listener, bound: bound, latest: latest)
        } catch {
            group.shutdown()
            throw .failed("\(error)")
        }
    }

    private init(
        host: String, group: EventLoopGroup, listener: TCPListener, bound: LoopBound<BrokerHost>, latest: Counters
    ) {
        self.host = host
        self.group = group
        self.listener = listener
        self.bound = bound
        self.latest = latest
        port = listener.port
    }

    /// The address for clients.
    public var url: String { host.contains(":") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)" }

    /// The counters after the last turn.
    public var counters: BrokerCounters { latest.value.withLock { $0 } }

    /// Replaces the table of peers. Peers whose row is gone or has changed are disconnected.
    public func admit(by access: BrokerAccess) {
        bound.loop.execute { [bound] in bound.object.admit(by: access) }
    }

    /// Accepts no more connections or requests, waits for those in progress, sends the queued output,
    /// closes all connections and ends. To be called once.
    ///
    /// - Parameters:
    ///   - timeout: the time limit for requests in progress.
    ///   - grace: the time that peers then have to take their queued output.
    public func drain(timeout: Duration = .seconds(3), grace: Duration = .seconds(1)) async {
        listener.close()
        await withCheckedContinuation { continuation in
            bound.loop.execute { [bound] in
                let timer = bound.loop.schedule(after: timeout) { bound.object.stopWaiting(grace: grace) }
                bound.object.drain {
                    timer.cancel()
                    continuation.resume()
                }
            }
        }
        group.shutdown()
    }

    /// Returns true for an address that only this machine can reach.
    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1"
            || host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }
}

/// The reason why a broker did not start, in words for the operator.
public enum BusServerError: Error, Equatable, CustomStringConvertible {
    /// The bus has no token, and anyone who can reach it could act as any service.
    case openWithoutToken(String)
    case failed(String)

    public var description: String {
        switch self {
        case .openWithoutToken(let host):
            "\(host) is not a loopback address: set BUS_PEERS_FILE or BUS_TOKEN_FILE, or listen on 127.0.0.1"
        case .failed(let reason): reason
        }
    }
}
