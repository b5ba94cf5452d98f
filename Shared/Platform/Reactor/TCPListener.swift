import CParlorLinux
import Glibc

/// A listening TCP port, with a socket for each event loop: the kernel distributes connections among them.
public final class TCPListener: Sendable {
    /// The limit of connections that wait to be accepted; the kernel caps it at `net.core.somaxconn`.
    public static let defaultBacklog: Int32 = 4096

    /// The port in use: the one that the kernel picked, if 0 was requested.
    public let port: UInt16
    private let acceptors: [Acceptor]

    /// Listens at once; connections are accepted as soon as the loops run.
    ///
    /// - Parameter host: an IP address or a name. A name is looked up on the calling thread.
    /// - Parameter receiveBuffer: the bytes that the kernel keeps of what a peer sends while nobody reads it. By default it
    ///   chooses, and may let each peer have megabytes (tcp(7), `tcp_rmem`).
    /// - Parameter onError: called when the process has no descriptor or memory left for a connection. The
    ///   connection waits in the backlog, and accepting is retried after `Acceptor.pause`.
    /// - Parameter refusal: called on the loop for each new connection, before anything is read. Returns nil to
    ///   keep it. Otherwise the returned bytes are sent, and the connection is closed at no other cost.
    /// - Parameter makeHandler: called on the connection's loop.
    /// - Throws: `ListenError`, also if another process listens on the port.
    public static func bind(
        host: String, port: UInt16, on group: EventLoopGroup, backlog: Int32 = defaultBacklog,
        receiveBuffer: Int? = nil,
        onError: @escaping @Sendable (SystemError) -> Void = { _ in },
        refusal: @escaping @Sendable (EventLoop, PeerAddress) -> [UInt8]? = { _, _ in nil },
        makeHandler: @escaping @Sendable (Channel) -> any ChannelHandler
    ) throws(ListenError) -> TCPListener {
        var address = try resolve(host: host, port: port)
        var sockets: [Socket] = []
        do throws(SystemError) {
            // The sockets of this server share the port. Another server of the same user could share it by
            // mistake, so bind an exclusive socket first: it fails if another process listens.
            if port != 0 { try open(address, backlog: nil, isShared: false).close() }
            let isShared = group.loops.count > 1
            for _ in group.loops {
                let socket = try open(address, backlog: backlog, receiveBuffer, isShared: isShared)
                sockets.append(socket)
                address.port = try socket.localAddress().port
            }
        } catch {
            for socket in sockets { socket.close() }
            throw .failed(host: host, port: port, error)
        }
        let acceptors = zip(group.loops, sockets).map { loop, socket in
            Acceptor(socket, loop: loop, onError: onError, refusal: refusal, makeHandler: makeHandler)
        }
        for acceptor in acceptors { acceptor.start() }
        return TCPListener(port: address.port, acceptors: acceptors)
    }

    private init(port: UInt16, acceptors: [Acceptor]) {
        self.port = port
        self.acceptors = acceptors
    }

    /// Accepts connections that already wait, then refuses new ones. Existing connections continue. From any
    /// thread.
    public func close() {
        for acceptor in acceptors { acceptor.close() }
    }

    private static func resolve(host: String, port: UInt16) throws(ListenError) -> SocketAddress {
        do throws(ResolveError) {
            let addresses = try SocketAddress.resolve(host: host, port: port, literalOnly: false)
            guard let first = addresses.first else { throw ResolveError(code: EAI_NONAME) }
            return first
        } catch {
            throw .unknownHost(host, "\(error)")
        }
    }

    /// Opens and binds a socket, which listens if a backlog is given.
    private static func open(
        _ address: SocketAddress, backlog: Int32?, _ receiveBuffer: Int? = nil, isShared: Bool
    ) throws(SystemError) -> Socket {
        let socket = try Socket(family: address.family)
        // Connections of an earlier process may still be in TIME_WAIT.
        socket.set(SO_REUSEADDR)
        if isShared { socket.set(SO_REUSEPORT) }
        // Before it listens, because its connections inherit the buffer and announce it when they begin.
        if let receiveBuffer { socket.set(SO_RCVBUF, to: Int32(clamping: receiveBuffer)) }
        do throws(SystemError) {
            try socket.bind(to: address)
            if let backlog { try socket.listen(backlog: backlog) }
        } catch {
            socket.close()
            throw error
        }
        return socket
    }
}

public enum ListenError: Error, Hashable, Sendable, CustomStringConvertible {
    case unknownHost(String, String)
    case failed(host: String, port: UInt16, SystemError)

    public var description: String {
        switch self {
        case .unknownHost(let host, let reason): "unknown host \(host): \(reason)"
        case .failed(let host, let port, let error): "cannot listen on \(host), port \(port): \(error)"
        }
    }
}
