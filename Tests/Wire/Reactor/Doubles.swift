import Glibc
import ParlorReactor
import ParlorTestSupport
import Testing

/// The calls to a handler, in order.
enum ChannelEvent: Hashable, Sendable {
    case received([UInt8])
    case drained
    case peerFinished
    case closed(CloseReason)
}

/// Reports a channel's events to a test, and acts as the test says.
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

/// The events in order, unbounded: a test reads all that it causes.
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

/// Echoes its input.
final class Echo: ChannelHandler {
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) { channel.write([UInt8](bytes)) }
    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}

/// Gives a test event loops, and ends them with it.
func withLoops<T>(_ count: Int = 1, _ body: (EventLoopGroup) async throws -> T) async throws -> T {
    let group = try EventLoopGroup(loopCount: count)
    let outcome: Result<T, any Error>
    do { outcome = .success(try await body(group)) } catch { outcome = .failure(error) }
    // Not here: a test that has called an actor of the loop's tasks may go on in the loop's thread.
    await finish(group)
    return try outcome.get()
}

/// Runs `body` on the loop and waits for its result.
func on<T: Sendable>(_ loop: EventLoop, _ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in loop.execute { continuation.resume(returning: body()) } }
}

/// Returns a channel on the group's first loop, and the client at its other end.
func connected(
    on group: EventLoopGroup, events: AsyncStream<ChannelEvent>.Continuation? = nil, receiveBuffer: Int32? = nil
) async throws -> (channel: Channel, client: BlockingSocket) {
    let channels = Events(of: Channel.self)
    let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { channel in
        channels.source.yield(channel)
        return events.map { Recorder($0) } ?? Echo()
    }
    defer { listener.close() }
    let client = try BlockingSocket(port: listener.port, receiveBuffer: receiveBuffer)
    return (try #require(await channels.next()), client)
}

/// Does one thing with the first bytes of a channel.
final class Answering: ChannelHandler {
    private let answer: (Channel) -> Void
    init(_ answer: @escaping (Channel) -> Void) { self.answer = answer }
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) { answer(channel) }
    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}

/// Blocks a thread until it is opened; each opening lets one thread through.
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
