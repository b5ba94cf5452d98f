import Reactor
import WebSocket

/// A WebSocket on its connection, from its opening handshake on.
final class WebSocketConnection: ChannelHandler {
    /// Close codes that this server sends of its own accord (RFC 6455, section 7.4.1).
    enum CloseCode: UInt16 {
        case normal = 1000
        /// The server goes; clients come back.
        case goingAway = 1001
    }

    private let channel: Channel
    private let edge: EdgeLoop
    private var parser: WebSocketParser
    /// Whose transport it is, or is to become. nil: its messages go to the delegate.
    private var session: EngineConnection?
    private var isClosing = false
    private var isSlow = false

    /// There is one while something was written lately.
    private var stallTimer: LoopTimer?

    init(_ channel: Channel, at endpoint: ServedEndpoint, received: [UInt8], edge: EdgeLoop) {
        self.channel = channel
        self.edge = edge
        parser = WebSocketParser(
            role: .server, maxMessageBytes: endpoint.settings.maxMessageBytes,
            maxFragments: endpoint.settings.maxFragments)
        parser.append(received)
        channel.handler = self
        edge.add(self)
    }

    /// Starts to read, beginning with what came along with the handshake.
    func start(for session: EngineConnection? = nil) {
        self.session = session
        if session == nil { edge.addPlain(self) }
        process()
    }

    // MARK: From the channel

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        parser.append(bytes)
        process()
    }

    func channelDidDrain(_ channel: Channel) { channel.resumeReading() }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        stopWatching()
        edge.forget(self)
        let session = session
        self.session = nil
        session?.webSocketDidClose(self, isSlow: isSlow)
    }

    private func process() {
        do throws(WebSocketError) {
            while !isClosing, let event = try parser.next() {
                switch event {
                case .text(let bytes): deliver(bytes, isBinary: false)
                case .binary(let bytes): deliver(bytes, isBinary: true)
                case .ping(let bytes): write(WebSocketFrame.encode(.pong, bytes))
                case .pong: break
                case .close(let code, _): close(code, reason: "")
                }
            }
        } catch {
            close(error.closeCode, reason: error.reason)
        }
        // A client that takes none of its answers has no more of its messages read.
        if !isClosing, channel.pendingBytes > edge.configuration.maxPendingBytes / 2 { channel.pauseReading() }
    }

    private func deliver(_ message: [UInt8], isBinary: Bool) {
        if let session {
            session.webSocket(self, received: message[...], isBinary: isBinary)
        } else {
            let webSocket = RawWebSocket(LoopBound(self, to: edge.loop))
            edge.delegate.webSocket(webSocket, received: message[...], isBinary: isBinary)
        }
    }

    // MARK: Writing

    var pendingBytes: Int { channel.pendingBytes }

    /// Takes a whole frame.
    func write(_ frame: [UInt8]) {
        channel.write(frame)
        guard stallTimer == nil, channel.isOpen else { return }
        // It is cancelled before this goes, at the latest when the channel has closed.
        stallTimer = edge.loop.schedule(after: edge.configuration.writeTimeout) { [unowned self] in checkStall() }
    }

    private func checkStall() {
        guard let stalled = channel.stalledSince else { return stopWatching() }
        let left = edge.configuration.writeTimeout - (LoopInstant.now() - stalled)
        if left > .zero {
            stallTimer?.rearm(after: left)
        } else {
            edge.counters.slowCloses.add(1)
            isSlow = true
            abort()
        }
    }

    private func stopWatching() {
        stallTimer?.cancel()
        stallTimer = nil
    }

    // MARK: Closing

    /// Says so, then closes once what is pending is written. The client's own close frame is read and dropped.
    func close(_ code: CloseCode) { close(code.rawValue, reason: "") }

    private func close(_ code: UInt16?, reason: String) {
        guard !isClosing else { return }
        isClosing = true
        channel.write(WebSocketFrame.close(code, reason: reason))
        channel.close()
    }

    /// Drops what is pending.
    func abort() {
        isClosing = true
        channel.abort()
    }
}
