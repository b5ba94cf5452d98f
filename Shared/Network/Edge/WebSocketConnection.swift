import ParlorHTTP
import ParlorReactor
import ParlorWebSocket

/// The receiver of a WebSocket's messages.
protocol WebSocketReceiver: AnyObject {
    /// The person who is connected, if that is known.
    var person: String? { get }

    func webSocket(_ webSocket: WebSocketConnection, received message: ArraySlice<UInt8>, isBinary: Bool)

    /// The last call. `isSlow`: it was closed because its client does not read.
    func webSocketDidClose(_ webSocket: WebSocketConnection, isSlow: Bool)
}

/// A WebSocket on its connection, from its opening handshake on.
final class WebSocketConnection: ChannelHandler {
    /// Close codes that this server sends of its own accord (RFC 6455, section 7.4.1).
    enum CloseCode: UInt16 {
        case normal = 1000
        /// The server shuts down; clients reconnect.
        case goingAway = 1001
        /// The client sent too many messages before CONNECT.
        case policyViolation = 1008
        /// The server is overloaded; clients reconnect later (IANA's registry).
        case tryAgainLater = 1013
    }

    private let channel: Channel
    private let edge: EdgeLoop
    private var parser: WebSocketParser
    /// The session whose transport this WebSocket is or is to become, or a `PlainWebSocket`.
    private var receiver: (any WebSocketReceiver)?
    private var isClosing = false
    private var isSlow = false
    /// True while the connection waits for its share of the loop's time. It then continues by itself.
    private var isResting = false
    /// True while the connection neither reads nor processes messages, because the client does not read its output.
    private var isHeldUp = false
    /// The last ping that has not been answered.
    private var ping: [UInt8]?

    /// The number of messages and control frames of one client that are taken in a turn, before other clients
    /// have theirs.
    private static let maxEventsPerTurn = 64
    /// The number of pings in a turn that are answered at once. Of more pings only the last is answered
    /// (RFC 6455, section 5.5.3, permits it), so a flood gets few answers.
    private static let maxPromptPongs = 10

    let client: IPAddress
    /// True while its socket is connected to a namespace.
    private var isConnected = false
    /// The share of the client's address that the connection counts for. It is `unconnected` even for a connected
    /// socket if the address has no more room for those.
    private(set) var share = ClientUsage.ConnectionShare.unconnected
    private var counted = ClientUsage.Buffered()

    /// The timer that finds slow readers. It exists while something was written recently.
    private var stallTimer: LoopTimer?

    /// Answers a handshake with 101, and replaces the connection with a WebSocket. Returns nil if the
    /// handshake was refused and answered, or the connection has closed.
    static func open(
        for request: HTTPRequest, on connection: HTTPConnection, exchange id: Int, maxMessageBytes: Int
    ) -> WebSocketConnection? {
        guard connection.channel.isOpen else { return nil }
        let client = connection.client(of: request)
        do throws(WebSocketRefusal) {
            let response = try WebSocketHandshake.accept(
                method: request.method, isHTTP11: request.version == .http11,
                additionalHeaders: [(RequestID.header, connection.requestID)], header: request.headers.all)
            guard count(connection, asOf: client, exchange: id) else { return nil }
            return WebSocketConnection(
                connection.channel, of: client, maxMessageBytes: maxMessageBytes,
                received: connection.upgrade(with: response), edge: connection.edge)
        } catch {
            connection.fail(id, status: error.status, reason: error.reason, headers: error.headers)
            return nil
        }
    }

    /// Counts the connection for its client's address: behind a proxy only the request names it.
    ///
    /// - Returns: false if that client may have no more; it has been answered then.
    private static func count(_ connection: HTTPConnection, asOf client: IPAddress, exchange id: Int) -> Bool {
        do throws(ClientUsage.Excess) {
            try connection.edge.usage.moveConnection(from: connection.countedAddress, to: client.subscriber)
            return true
        } catch {
            connection.edge.counters.refusedConnections.note(error)
            connection.fail(
                id, status: error.status, reason: error.reason("connections"),
                retryAfter: HTTPFailure.pauseWhenFull)
            return false
        }
    }

    /// Creates a WebSocket on a connection that has been counted for its client.
    private init(
        _ channel: Channel, of client: IPAddress, maxMessageBytes: Int, received: [UInt8], edge: EdgeLoop
    ) {
        self.channel = channel
        self.edge = edge
        self.client = client
        parser = WebSocketParser(role: .server, maxMessageBytes: maxMessageBytes)
        parser.append(received)
        channel.handler = self
        channel.receive(atMost: EdgeLimits.smallBuffer)
        edge.add(self)
    }

    /// Applies the limits of a socket that has connected to a namespace, or left its last one.
    ///
    /// - Returns: false if its address has too many connections whose socket is not connected; this one must then end.
    @discardableResult
    func note(isConnected: Bool, maxMessageBytes: Int) -> Bool {
        parser.maxMessageBytes = maxMessageBytes
        self.isConnected = isConnected
        // A message that is received at once is refused alone if its person has buffered too much; for a part of a
        // message, the socket is closed.
        channel.receive(atMost: isConnected ? .max : EdgeLimits.smallBuffer)
        channel.boundUnread(
            bytes: isConnected ? EdgeLimits.unreadBySocket : EdgeLimits.unreadByStranger,
            for: edge.configuration.writeTimeout * 3)
        let share: ClientUsage.ConnectionShare = isConnected ? .connected : .unconnected
        if isReleased || share == self.share { return true }
        guard edge.usage.moveConnection(of: client.subscriber, to: share) else {
            if isConnected { return true }
            edge.counters.refusedConnections.note(.perAddress)
            return false
        }
        self.share = share
        return true
    }

    /// Starts to read, beginning with the bytes that came with the handshake.
    func start(for receiver: any WebSocketReceiver) {
        self.receiver = receiver
        goOn()
    }

    // MARK: From the channel

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        parser.append(bytes)
        goOn(received: bytes.count)
    }

    func channelDidStall(_ channel: Channel) {
        if !countBytes() { cutOff() }
    }

    func channelDidDrain(_ channel: Channel) {
        // Every broadcast drains every connection, but only a connection that was held up has something to
        // continue with. A decrease is never refused, and a refusal keeps the previous count
        // (`ClientUsage.changeBuffer`).
        if isHeldUp { goOn() } else { _ = countBytes() }
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        release()
        receiver.take()?.webSocketDidClose(self, isSlow: isSlow)
    }

    /// Processes the received bytes, and counts the rest.
    private func goOn(received: Int = 0) {
        defer { if !countBytes() { close(.tryAgainLater, reason: "too much is being sent") } }
        guard !isResting, !isReleased else { return }
        var left = Self.maxEventsPerTurn
        var interval = edge.shares.begin(for: client.subscriber, received: received)
        var pongsLeft = Self.maxPromptPongs
        do throws(WebSocketError) {
            while !isClosing, !isReleased, !isUnread, left > 0, interval.goesOn(), let event = try parser.next() {
                left -= 1
                switch event {
                case .text(let bytes): receiver?.webSocket(self, received: bytes[...], isBinary: false)
                case .binary(let bytes): receiver?.webSocket(self, received: bytes[...], isBinary: true)
                case .ping(let bytes) where pongsLeft > 0:
                    pongsLeft -= 1
                    write(WebSocketFrame.encode(.pong, bytes))
                case .ping(let bytes): ping = bytes
                case .pong: break
                case .close(let code, _): close(code, reason: "")
                }
            }
        } catch {
            close(error.closeCode, reason: error.reason)
        }
        let goesOn = interval.goesOn()
        if isClosing { return }
        if let answered = ping.take() { write(WebSocketFrame.encode(.pong, answered)) }
        // When a client has used its share, stop receiving from it too.
        if !goesOn {
            rest { edge.shares.wait(for: client.subscriber, $0) }
        } else if left == 0, parser.hasInput {
            rest { edge.loop.inNextTurn($0) }
        }
        isHeldUp = isUnread
        if isResting || isHeldUp { channel.pauseReading() } else { channel.resumeReading() }
    }

    /// True if the client does not read its answers, in which case its messages are not read either.
    private var isUnread: Bool { channel.unsentCost > edge.configuration.maxUnsentBytes / 2 }

    private func rest(until wakeUp: (@escaping () -> Void) -> Void) {
        isResting = true
        // The wait may outlast the connection.
        wakeUp { [weak self] in
            guard let self else { return }
            isResting = false
            if !isClosing { goOn() }
        }
    }

    /// - Returns: false if the client may not have so much.
    private func countBytes() -> Bool {
        if isReleased { return true }
        return edge.count(
            parser.bufferedBytes + (channel.isStalled ? channel.unsentCost : 0), of: client.subscriber,
            in: &counted, as: standing) == nil
    }

    private var standing: ClientUsage.Standing {
        isConnected ? .known(person: receiver?.person) : .stranger
    }

    // MARK: Writing

    var unsentCost: Int { channel.unsentCost }

    /// Offers the output of this turn to the kernel, before its end.
    ///
    /// - Returns: true if the kernel has taken everything, or some of it within this time.
    func takesOutput(within time: Duration) -> Bool {
        channel.flush()
        return channel.stalledSince.map { LoopInstant.now() - $0 < time } ?? true
    }

    /// Writes a whole frame.
    func write(_ frame: [UInt8]) {
        channel.write(frame)
        if channel.isStalled, !countBytes() { return cutOff() }
        guard stallTimer == nil, channel.isOpen else { return }
        // The timer is cancelled before this object is released, at the latest when the channel has closed.
        stallTimer = edge.loop.schedule(after: edge.configuration.writeTimeout) { [unowned self] in checkStall() }
    }

    private func checkStall() {
        guard let stalled = channel.stalledSince else { return stopWatching() }
        let left = edge.configuration.writeTimeout - (LoopInstant.now() - stalled)
        if left > .zero {
            stallTimer?.rearm(after: left)
        } else {
            cutOff()
        }
    }

    private func cutOff() {
        edge.counters.slowCloses.add(1)
        isSlow = true
        abort()
    }

    private func stopWatching() {
        stallTimer?.cancel()
        stallTimer = nil
    }

    // MARK: Closing

    /// Closes because the session has ended.
    func close(for reason: SocketCloseReason?) {
        switch reason {
        // A client that does not read would not read a close frame either. Under overload, its slot is needed at once.
        case .slowReader, .abandoned, .overload: abort()
        case .draining: close(.goingAway)
        case .tooManyMessages: close(.policyViolation, reason: "too many messages before CONNECT")
        default: close(.normal)
        }
    }

    /// Sends a close frame, then closes once the unsent output is written. The client's own close frame is
    /// read and dropped.
    func close(_ code: CloseCode, reason: String = "") { close(code.rawValue, reason: reason) }

    private func close(_ code: UInt16?, reason: String) {
        guard !isClosing else { return }
        isClosing = true
        channel.write(WebSocketFrame.close(code, reason: reason))
        channel.close()
    }

    /// Closes at once and drops the unsent output.
    func abort() {
        isClosing = true
        channel.abort()
        release()
    }

    private var isReleased = false

    private func release() {
        if isReleased { return }
        stopWatching()
        _ = edge.count(0, of: nil, in: &counted, as: .stranger)
        isReleased = true
        edge.forget(self)
    }
}
