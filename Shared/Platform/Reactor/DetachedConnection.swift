import Synchronization

/// A connection between two loops: its socket and its unsent output. It is closed if it is released without
/// being attached.
public final class DetachedConnection: Sendable {
    public let peer: PeerAddress
    private let contents: Mutex<(socket: Socket, output: OutputQueue)?>

    init(socket: Socket, peer: PeerAddress, output: OutputQueue) {
        self.peer = peer
        contents = Mutex((socket, output))
    }

    deinit { take()?.socket.close() }

    /// Takes the contents, once: a second caller gets nil.
    func take() -> (socket: Socket, output: OutputQueue)? {
        contents.withLock { contents in
            defer { contents = nil }
            return contents
        }
    }
}

extension EventLoop {
    /// Continues a connection on this loop. From any thread. Attaching it a second time does nothing.
    ///
    /// - Parameter received: bytes that an earlier handler received and did not use; the new one gets them
    ///   first.
    /// - Parameter makeHandler: called on the loop.
    public func attach(
        _ connection: DetachedConnection, received: [UInt8] = [],
        makeHandler: @escaping @Sendable (Channel) -> any ChannelHandler
    ) {
        execute { [self] in
            guard let (socket, output) = connection.take() else { return }
            let channel = Channel(socket, peer: connection.peer, loop: self)
            channel.output = ChannelOutput(output)
            channel.start(makeHandler(channel))
            channel.deliver(received)
            if !channel.output.queue.isEmpty, !channel.isFlushQueued {
                channel.isFlushQueued = true
                flushAtEndOfTurn(channel)
            }
        }
    }
}
