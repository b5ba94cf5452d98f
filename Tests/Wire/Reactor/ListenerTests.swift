import Glibc
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorReactor

@Suite(.timeLimit(.minutes(1)))
struct ListenerTests {
    @Test("port 0 picks a port that all loops share, and each loop gets connections")
    func sharedPort() async throws {
        try await withLoops(2) { group in
            let seen = Events(of: Int.self)
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { channel in
                seen.source.yield(channel.loop.index)
                return Echo()
            }
            #expect(listener.port != 0)
            var loops: Set<Int> = []
            var clients: [BlockingSocket] = []
            // The kernel spreads by a hash of the ports: that 200 all meet one of two loops will not happen.
            while loops.count < 2, clients.count < 200 {
                clients.append(try BlockingSocket(port: listener.port))
                loops.insert(try #require(await seen.next()))
            }
            #expect(loops == [0, 1])
        }
    }

    @Test("a port in use is refused, also if it is shared among the other server's loops")
    func inUse() async throws {
        try await withLoops(2) { group in
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in Echo() }
            let host = "127.0.0.1"
            let port = listener.port
            #expect(throws: ListenError.failed(host: host, port: port, SystemError("bind", code: EADDRINUSE))) {
                try TCPListener.bind(host: host, port: port, on: group) { _ in Echo() }
            }
        }
    }

    @Test("closing refuses new connections and leaves open ones alone")
    func close() async throws {
        try await withLoops { group in
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in Echo() }
            let client = try BlockingSocket(port: listener.port)
            try client.send("a")
            #expect(try client.receiveText(1) == "a")
            listener.close()
            await on(group.loops[0]) {}
            await #expect(throws: ConnectError.failed(SystemError("socket", code: ECONNREFUSED))) {
                try await group.loops[0].connect(host: "127.0.0.1", port: listener.port) { _ in Echo() }
            }
            try client.send("b")
            #expect(try client.receiveText(1) == "b")
        }
    }

    @Test("what the kernel receives for a channel stays bounded, however fast it is read")
    func receiveBuffer() async throws {
        try await withLoops { group in
            let channels = Events(of: Channel.self)
            let listener = try TCPListener.bind(
                host: "127.0.0.1", port: 0, on: group, receiveBuffer: 48 * 1024
            ) { channel in
                channels.source.yield(channel)
                return Answering { _ in }
            }
            let client = try BlockingSocket(port: listener.port)
            let channel = try #require(await channels.next())
            for _ in 0..<64 { try client.send(String(repeating: "x", count: 256 * 1024)) }
            let size = await on(group.loops[0]) {
                var size: Int32 = 0
                var length = socklen_t(MemoryLayout<Int32>.size)
                getsockopt(channel.socket.descriptor, SOL_SOCKET, SO_RCVBUF, &size, &length)
                return size
            }
            // The kernel doubles it, for its own records (socket(7)).
            #expect(size == 2 * 48 * 1024)
        }
    }

    @Test("IPv6 works, and a peer prints as its address and port")
    func ipv6() async throws {
        try await withLoops { group in
            let peers = Events(of: PeerAddress.self)
            let listener = try TCPListener.bind(host: "::1", port: 0, on: group) { channel in
                peers.source.yield(channel.peer)
                return Echo()
            }
            let channel = try await group.loops[0].connect(host: "::1", port: listener.port) { _ in Echo() }
            #expect("\(channel.peer)" == "[::1]:\(listener.port)")
            let peer = try #require(await peers.next())
            #expect(peer.ip.isIPv6)
            #expect("\(peer.ip)" == "::1")
        }
    }

    @Test("an IPv4 client of an IPv6 socket is known by its IPv4 address")
    func mapped() async throws {
        try await withLoops { group in
            let peers = Events(of: PeerAddress.self)
            let listener = try TCPListener.bind(host: "::", port: 0, on: group) { channel in
                peers.source.yield(channel.peer)
                return Echo()
            }
            let client = try BlockingSocket(port: listener.port)
            let peer = try #require(await peers.next())
            #expect(!peer.ip.isIPv6)
            #expect("\(peer)".hasPrefix("127.0.0.1:"))
            withExtendedLifetime(client) {}
        }
    }

    @Test("an invalid host is an error")
    func unknownHost() async throws {
        try await withLoops { group in
            for host in ["", "127.0.0.1\0.example"] {
                #expect(throws: ListenError.self) {
                    try TCPListener.bind(host: host, port: 0, on: group) { _ in Echo() }
                }
            }
        }
    }

    @Test(
        "without a free descriptor a connection waits, and is accepted when there is one", arguments: [EMFILE, ENOMEM])
    func outOfDescriptors(code: Int32) async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let errors = Events(of: SystemError.self)
            let failuresLeft = Atomic<Int>(2)
            let socket = try Socket(family: AF_INET)
            try socket.bind(
                to: try #require(SocketAddress.resolve(host: "127.0.0.1", port: 0, literalOnly: true).first))
            try socket.listen(backlog: 8)
            let acceptor = Acceptor(
                socket, loop: loop,
                accept: { socket throws(SystemError) in
                    if failuresLeft.wrappingSubtract(1, ordering: .relaxed).oldValue > 0 {
                        throw SystemError("accept", code: code)
                    }
                    return try socket.accept()
                },
                onError: { errors.source.yield($0) }, makeHandler: { _ in Echo() })
            acceptor.start()
            let client = try BlockingSocket(port: socket.localAddress().port)
            try client.send("patience")
            #expect(try client.receiveText(8) == "patience")
            #expect(await errors.next() == SystemError("accept", code: code))
            #expect(await errors.next() == SystemError("accept", code: code))
        }
    }

    @Test("an error of one connection does not delay the next")
    func abortedConnection() async throws {
        try await withLoops { group in
            let failuresLeft = Atomic<Int>(3)
            let socket = try Socket(family: AF_INET)
            try socket.bind(
                to: try #require(SocketAddress.resolve(host: "127.0.0.1", port: 0, literalOnly: true).first))
            try socket.listen(backlog: 8)
            let acceptor = Acceptor(
                socket, loop: group.loops[0],
                accept: { socket throws(SystemError) in
                    if failuresLeft.wrappingSubtract(1, ordering: .relaxed).oldValue > 0 {
                        throw SystemError("accept", code: ECONNABORTED)
                    }
                    return try socket.accept()
                },
                onError: { Issue.record("an unexpected error: \($0)") }, makeHandler: { _ in Echo() })
            acceptor.start()
            let client = try BlockingSocket(port: socket.localAddress().port)
            try client.send("next")
            #expect(try client.receiveText(4) == "next")
        }
    }
}
