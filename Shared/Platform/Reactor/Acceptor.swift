import Glibc

/// A listening socket on its loop.
///
/// Its state is used on the loop only, which makes it safe to share.
final class Acceptor: PollSource, @unchecked Sendable {
    /// The pause in accepting after the process ran out of descriptors or memory: long enough that attempts take hardly
    /// any processor time, and short for a waiting client.
    static let pause: Duration = .milliseconds(100)
    /// The limit of accepts in a turn, as a flood of connections must not starve existing ones.
    private static let maxPerTurn = 16

    private let socket: Socket
    private let loop: EventLoop
    /// The call that accepts. Tests replace it to simulate a kernel without resources.
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
            // The kernel has already completed the connections in the backlog: closing would reset them.
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
                // The socket itself is unusable, and retrying does not help.
                case EBADF, EINVAL, ENOTSOCK: return release()
                // Errors of one connection, which accept(2) reports instead of returning it.
                default: continue
                }
            }
        }
    }

    /// Sends as much as the kernel takes at once, and closes. The received bytes are read first, as unread
    /// input would turn the close into a reset.
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
