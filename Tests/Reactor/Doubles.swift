import Glibc
import Reactor
import Synchronization
import Testing

/// What a handler was told, in order.
enum ChannelEvent: Hashable, Sendable {
    case received([UInt8])
    case drained
    case peerFinished
    case closed(CloseReason)
}

/// Tells a test what happens on a channel, and does what the test says.
final class Recorder: ChannelHandler {
    private let events: AsyncStream<ChannelEvent>.Continuation
    private let onReceive: (Channel, [UInt8]) -> Void
    private let staysHalfOpen: Bool

    init(
        _ events: AsyncStream<ChannelEvent>.Continuation, staysHalfOpen: Bool = false,
        onReceive: @escaping (Channel, [UInt8]) -> Void = { _, _ in }
    ) {
        self.events = events
        self.staysHalfOpen = staysHalfOpen
        self.onReceive = onReceive
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        let copy = [UInt8](bytes)
        events.yield(.received(copy))
        onReceive(channel, copy)
    }

    func channelDidDrain(_ channel: Channel) { events.yield(.drained) }

    func channelPeerDidFinish(_ channel: Channel) {
        events.yield(.peerFinished)
        if !staysHalfOpen { channel.close() }
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) { events.yield(.closed(reason)) }
}

/// What happened, in order, kept without limit: a test reads all it makes.
struct Events<Element: Sendable>: Sendable {
    private let stream: AsyncStream<Element>
    let source: AsyncStream<Element>.Continuation

    init(of type: Element.Type = Element.self) {
        (stream, source) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .unbounded)
    }

    func next() async -> Element? {
        for await element in stream { return element }
        return nil
    }
}

/// Sends back what comes.
final class Echo: ChannelHandler {
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) { channel.write([UInt8](bytes)) }
    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}

/// A client on plain blocking sockets: nothing of what is tested is in it. It gives up after ten seconds.
final class BlockingClient: Sendable {
    let descriptor: Int32
    private let isClosed = Atomic<Bool>(false)

    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafeBytes(of: address) {
            connect(
                descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        try #require(result == 0, "connect: \(errno)")
    }

    deinit { disconnect() }

    /// Closes the socket now.
    func disconnect() {
        if !isClosed.exchange(true, ordering: .relaxed) { close(descriptor) }
    }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            try #require(count > 0, "send: \(errno)")
            sent += count
        }
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Exactly so many bytes, or fewer at the end.
    func receive(_ wanted: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: wanted)
        var filled = 0
        while filled < wanted {
            let count = bytes.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress.map { $0 + filled }, wanted - filled, 0)
            }
            try #require(count >= 0, "recv: \(errno)")
            if count == 0 { break }
            filled += count
        }
        return Array(bytes.prefix(filled))
    }

    func receiveText(_ wanted: Int) throws -> String { String(decoding: try receive(wanted), as: UTF8.self) }

    /// Whether the server has closed in order (true) or by a reset (false), with nothing left to read.
    func isAtEnd() -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, 0) == 0
    }

    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }
}

/// Gives a test event loops, and ends them with it.
func withLoops<T>(_ count: Int = 1, _ body: (EventLoopGroup) async throws -> T) async throws -> T {
    let group = try EventLoopGroup(loopCount: count)
    defer { group.shutdown() }
    return try await body(group)
}

/// Runs `body` on the loop and waits for its result.
func on<T: Sendable>(_ loop: EventLoop, _ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in loop.execute { continuation.resume(returning: body()) } }
}

/// A channel on the group's first loop, and the client at its other end.
func connected(
    on group: EventLoopGroup, events: AsyncStream<ChannelEvent>.Continuation? = nil, receiveBuffer: Int32? = nil
) async throws -> (channel: Channel, client: BlockingClient) {
    let channels = Events(of: Channel.self)
    let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { channel in
        channels.source.yield(channel)
        return events.map { Recorder($0) } ?? Echo()
    }
    defer { listener.close() }
    let client = try BlockingClient(port: listener.port, receiveBuffer: receiveBuffer)
    return (try #require(await channels.next()), client)
}

/// Does one thing with the first bytes of a channel.
final class Answering: ChannelHandler {
    private let answer: (Channel) -> Void
    init(_ answer: @escaping (Channel) -> Void) { self.answer = answer }
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) { answer(channel) }
    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}

/// Holds a thread until it is opened; one thread an opening.
final class Gate: Sendable {
    private let pipe: (read: Int32, write: Int32)

    init() {
        var ends: [Int32] = [0, 0]
        precondition(Glibc.pipe(&ends) == 0)
        pipe = (ends[0], ends[1])
    }

    deinit {
        close(pipe.read)
        close(pipe.write)
    }

    func open() { _ = write(pipe.write, "x", 1) }

    func wait() {
        var byte: UInt8 = 0
        _ = read(pipe.read, &byte, 1)
    }
}
