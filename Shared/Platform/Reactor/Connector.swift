import Glibc

extension EventLoop {
    /// Connects to a TCP port, trying the host's addresses one after the other.
    ///
    /// Names are looked up on separate threads. Cancelling the task ends the attempt.
    ///
    /// - Parameter timeout: the limit for the whole attempt, including the lookup.
    /// - Parameter makeHandler: called on this loop, before anything is received.
    @discardableResult
    public func connect(
        host: String, port: UInt16, timeout: Duration = .seconds(10),
        makeHandler: @escaping @Sendable (Channel) -> any ChannelHandler
    ) async throws(ConnectError) -> Channel {
        let connector = Connector(host: host, port: port, timeout: timeout, loop: self, makeHandler: makeHandler)
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if !submit(.work { connector.start { continuation.resume(returning: $0) } }) {
                    continuation.resume(returning: .failure(.loopStopped))
                }
            }
        } onCancel: {
            execute { connector.finish(.failure(.cancelled)) }
        }.get()
    }
}

public enum ConnectError: Error, Hashable, Sendable, CustomStringConvertible {
    case unknownHost(String, String)
    /// All addresses failed; this is the last one's error.
    case failed(SystemError)
    case timedOut
    case cancelled
    case loopStopped

    public var description: String {
        switch self {
        case .unknownHost(let host, let reason): "unknown host \(host): \(reason)"
        case .failed(let error): "\(error)"
        case .timedOut: "timed out"
        case .cancelled: "cancelled"
        case .loopStopped: "the event loop has stopped"
        }
    }
}

/// An attempt to connect, over all addresses of a host.
///
/// Its state is used on the loop only, which makes it safe to share.
final class Connector: PollSource, @unchecked Sendable {
    typealias Outcome = Result<Channel, ConnectError>

    private let host: String
    private let port: UInt16
    private let timeout: Duration
    private let loop: EventLoop
    private let makeHandler: @Sendable (Channel) -> any ChannelHandler

    private var completion: ((Outcome) -> Void)?
    private var isFinished = false
    private var timer: LoopTimer?
    /// The addresses that have not been tried.
    private var addresses: ArraySlice<SocketAddress> = []
    private var attempt: (socket: Socket, token: Poller.Token?, address: SocketAddress)?

    init(
        host: String, port: UInt16, timeout: Duration, loop: EventLoop,
        makeHandler: @escaping @Sendable (Channel) -> any ChannelHandler
    ) {
        self.host = host
        self.port = port
        self.timeout = timeout
        self.loop = loop
        self.makeHandler = makeHandler
    }

    /// - Parameter completion: called once, on the loop.
    func start(_ completion: @escaping (Outcome) -> Void) {
        // The attempt was cancelled before it began.
        guard !isFinished else { return completion(.failure(.cancelled)) }
        self.completion = completion
        timer = loop.schedule(after: timeout) { [self] in finish(.failure(.timedOut)) }
        do throws(ResolveError) {
            // A literal needs no thread, and anything else fails at once here.
            addresses = try SocketAddress.resolve(host: host, port: port, literalOnly: true)[...]
            tryNext(after: nil)
        } catch {
            lookUp()
        }
    }

    private func lookUp() {
        loop.poller.park(self)
        Task { [self, host, port] in
            let outcome: Result<[SocketAddress], ConnectError>
            do {
                let found = try await loop.resolver.run {
                    try SocketAddress.resolve(host: host, port: port, literalOnly: false)
                }
                outcome = .success(found)
            } catch {
                outcome = .failure(.unknownHost(host, "\(error)"))
            }
            loop.execute { self.lookedUp(outcome) }
        }
    }

    private func lookedUp(_ outcome: Result<[SocketAddress], ConnectError>) {
        guard !isFinished else { return }
        loop.poller.unpark(self)
        switch outcome {
        case .success(let found):
            addresses = found[...]
            tryNext(after: nil)
        case .failure(let error):
            finish(.failure(error))
        }
    }

    private func tryNext(after failure: SystemError?) {
        var failure = failure
        while let address = addresses.popFirst() {
            do throws(SystemError) {
                try begin(address)
                return
            } catch {
                failure = error
            }
        }
        finish(.failure(failure.map { .failed($0) } ?? .unknownHost(host, "no address")))
    }

    private func begin(_ address: SocketAddress) throws(SystemError) {
        let socket = try Socket(family: address.family)
        do throws(SystemError) {
            socket.setNoDelay()
            if try socket.connect(to: address) {
                attempt = (socket, nil, address)
                return succeed()
            }
            attempt = (socket, try loop.poller.add(socket, for: .output, source: self), address)
        } catch {
            socket.close()
            throw error
        }
    }

    func ready(_ events: PollEvents) {
        guard let attempt else { return }
        if let error = attempt.socket.takeError() {
            drop()
            tryNext(after: error)
        } else {
            succeed()
        }
    }

    private func succeed() {
        guard let (socket, token, address) = attempt else { return }
        if let token { loop.poller.remove(socket, token) }
        attempt = nil
        let channel = Channel(socket, peer: PeerAddress(address), loop: loop)
        channel.start(makeHandler(channel))
        finish(.success(channel))
    }

    private func drop() {
        guard let (socket, token, _) = attempt else { return }
        if let token { loop.poller.remove(socket, token) }
        socket.close()
        attempt = nil
    }

    /// Ends the attempt with its first outcome; later ones are ignored.
    func finish(_ outcome: Outcome) {
        guard !isFinished else { return }
        isFinished = true
        loop.poller.unpark(self)
        timer?.cancel()
        timer = nil
        drop()
        let completion = completion
        self.completion = nil
        completion?(outcome)
    }

    func loopWillStop() { finish(.failure(.loopStopped)) }
}
