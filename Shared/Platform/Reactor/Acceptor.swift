import Glibc

/// A listening socket on its loop.
///
/// Its state is touched on the loop alone, which makes this safe to share.
final class Acceptor: PollSource, @unchecked Sendable {
    /// How long nothing is accepted after the process ran out of descriptors: long enough to spend no processor on
    /// trying, short against a client's patience.
    static let pause: Duration = .milliseconds(100)
    /// A flood of connections must not starve those that exist.
    private static let maxPerTurn = 64

    private let socket: Socket
    private let loop: EventLoop
    /// Replaced where a test needs a kernel that has run out.
    private let acceptNext: @Sendable (Socket) throws(SystemError) -> (Socket, PeerAddress)?
    private let onError: @Sendable (SystemError) -> Void
    private let refusal: @Sendable (EventLoop, PeerAddress) -> [UInt8]?
    private let makeHandler: @Sendable (Channel) -> any ChannelHandler
    private var token: Poller.Token?
    private var isClosed = false

    init(
        _ socket: Socket, loop: EventLoop,
        accept: @escaping @Sendable (Socket) throws(SystemError) -> (Socket, PeerAddress)? = {
            (socket) throws(SystemError) in try socket.accept()
        },
        onError: @escaping @Sendable (SystemError) -> Void,
        refusal: @escaping @Sendable (EventLoop, PeerAddress) -> [UInt8]? = { _, _ in nil },
        makeHandler: @escaping @Sendable (Channel) -> any ChannelHandler
    ) {
        self.socket = socket
        self.loop = loop
        acceptNext = accept
        self.onError = onError
        self.refusal = refusal
        self.makeHandler = makeHandler
    }

    func start() {
        loop.execute { self.watch() }
    }

    func close() {
        loop.execute {
            // A connection in the backlog has been answered by the kernel: closing would reset it.
            if !self.isClosed { self.accept(atMost: Int(TCPListener.defaultBacklog)) }
            self.release()
        }
    }

    func ready(_ events: PollEvents) { accept(atMost: Self.maxPerTurn) }

    func loopWillStop() { release() }

    private func watch() {
        guard !isClosed else { return }
        do throws(SystemError) {
            token = try loop.poller.add(socket, for: .input, source: self)
            loop.poller.unpark(self)
        } catch {
            pause(after: error)
        }
    }

    private func accept(atMost limit: Int) {
        for _ in 0..<limit {
            do throws(SystemError) {
                guard let (accepted, peer) = try acceptNext(socket) else { return }
                if let answer = refusal(loop, peer) {
                    refuse(accepted, with: answer)
                    continue
                }
                accepted.setNoDelay()
                let channel = Channel(accepted, peer: peer, loop: loop)
                channel.start(makeHandler(channel))
            } catch {
                switch error.code {
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: return pause(after: error)
                // The socket itself is unusable, which nothing repairs.
                case EBADF, EINVAL, ENOTSOCK: return release()
                // Errors of the one connection, which the kernel hands over in its place (accept(2)).
                default: continue
                }
            }
        }
    }

    /// Sends what the kernel takes at once, and closes. What has come is read, as unread input would turn the close into a reset.
    private func refuse(_ socket: Socket, with answer: [UInt8]) {
        _ = socket.discard(atMost: DroppedInput.portion)
        if !answer.isEmpty { _ = answer.withUnsafeBytes { socket.send($0) } }
        socket.close()
    }

    private func pause(after error: SystemError) {
        onError(error)
        if let token { loop.poller.remove(socket, token) }
        token = nil
        loop.poller.park(self)
        loop.schedule(after: Self.pause) { [self] in watch() }
    }

    private func release() {
        guard !isClosed else { return }
        isClosed = true
        if let token { loop.poller.remove(socket, token) } else { loop.poller.unpark(self) }
        token = nil
        socket.close()
    }
}
