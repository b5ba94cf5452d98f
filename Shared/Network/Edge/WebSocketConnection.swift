import HTTP
import Reactor
import WebSocket

/// A WebSocket on its connection, from its opening handshake on.
final class WebSocketConnection: ChannelHandler {
    /// Close codes that this server sends of its own accord (RFC 6455, section 7.4.1).
    enum CloseCode: UInt16 {
        case normal = 1000
        /// The server goes; clients come back.
        case goingAway = 1001
        /// Of a client that does what clients don't.
        case policyViolation = 1008
        /// There is too much to do; clients come back later (IANA's registry).
        case tryAgainLater = 1013
    }

    /// The receiver of its messages.
    private enum Receiver {
        /// Whose transport it is, or is to become.
        case session(EngineConnection)
        case plain(PlainWebSocket)
    }

    private let channel: Channel
    private let edge: EdgeLoop
    private var parser: WebSocketParser
    private var receiver: Receiver?
    private var isClosing = false
    private var isSlow = false
    /// It has had its share for now, and goes on by itself.
    private var isResting = false
    /// It takes and receives nothing until its client has read what is unsent.
    private var isHeldUp = false
    /// The last ping that has not been answered.
    private var ping: [UInt8]?

    /// Messages and control frames of one client that are taken in a turn, before others have theirs.
    private static let maxEventsPerTurn = 64
    /// Pings of a turn that are answered at once. Of further ones the last is (RFC 6455, section 5.5.3, lets us): a flood has few answers.
    private static let maxPromptPongs = 10

    private let client: IPAddress
    /// Whose connection it is counted as; nil once its socket has connected.
    private(set) var countedAddress: IPAddress?
    private var counted = ClientUsage.Buffered()

    /// There is one while something was written lately.
    private var stallTimer: LoopTimer?

    /// Answers a handshake with 101, and puts a WebSocket in the connection's place. nil: it is refused and answered, or the connection has
    /// closed.
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

    /// Counts the connection as its client's: behind a proxy only the request says whose it is.
    ///
    /// - Returns: false if that client may have no more, and was answered that.
    private static func count(_ connection: HTTPConnection, asOf client: IPAddress, exchange id: Int) -> Bool {
        do throws(ClientUsage.Excess) {
            try connection.edge.usage.moveConnection(from: connection.countedAddress, to: client.subscriber)
            return true
        } catch {
            connection.edge.counters.refusedConnections.note(error)
            connection.fail(
                id, status: error.status, reason: error.reason("connections"),
                headers: [("Retry-After", HTTPFailure.retryAfter)])
            return false
        }
    }

    /// The connection has been counted as its client's.
    private init(
        _ channel: Channel, of client: IPAddress, maxMessageBytes: Int, received: [UInt8], edge: EdgeLoop
    ) {
        self.channel = channel
        self.edge = edge
        self.client = client
        countedAddress = client.subscriber
        parser = WebSocketParser(role: .server, maxMessageBytes: maxMessageBytes)
        parser.append(received)
        channel.handler = self
        channel.receive(atMost: .max)
        edge.add(self)
    }

    /// Its socket has connected to a namespace, or left the last one: it may send messages of this size, and is counted by address only
    /// while it has not.
    ///
    /// - Returns: false if there are too many of its address that have not: it has to end.
    @discardableResult
    func note(isConnected: Bool, maxMessageBytes: Int) -> Bool {
        parser.maxMessageBytes = maxMessageBytes
        let address = isConnected ? nil : client.subscriber
        if isReleased || address == countedAddress { return true }
        do throws(ClientUsage.Excess) {
            try edge.usage.moveConnection(from: countedAddress, to: address)
            countedAddress = address
            return true
        } catch {
            edge.counters.refusedConnections.note(error)
            return false
        }
    }

    /// Starts to read, beginning with what came along with the handshake.
    func start(for session: EngineConnection) {
        receiver = .session(session)
        goOn()
    }

    func start(for plain: PlainWebSocket) {
        receiver = .plain(plain)
        goOn()
    }

    // MARK: From the channel

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        parser.append(bytes)
        goOn(received: bytes.count)
    }

    /// Takes what has come, and counts what is left of it.
    private func goOn(received: Int = 0) {
        process(received: received)
        if !countBytes() { close(.tryAgainLater, reason: "too much is being sent") }
    }

    func channelDidStall(_ channel: Channel) {
        if !countBytes() { cutOff() }
    }

    func channelDidDrain(_ channel: Channel) {
        // Every broadcast drains every connection: only one that was held up has anything to go on with. Less is granted, or stays counted as before (`ClientUsage.changeBuffer`).
        if isHeldUp { goOn() } else { _ = countBytes() }
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        release()
        if case .session(let session) = receiver.take() { session.webSocketDidClose(self, isSlow: isSlow) }
    }

    private func process(received: Int = 0) {
        guard !isResting, !isReleased else { return }
        var left = Self.maxEventsPerTurn
        var interval = edge.shares.begin(for: client.subscriber, received: received)
        var pongsLeft = Self.maxPromptPongs
        do throws(WebSocketError) {
            while !isClosing, !isReleased, !isUnread, left > 0, interval.goesOn(), let event = try parser.next() {
                left -= 1
                switch event {
                case .text(let bytes): deliver(bytes, isBinary: false)
                case .binary(let bytes): deliver(bytes, isBinary: true)
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
        // Of whoever has had their share, nothing more is received either.
        if !goesOn {
            rest { edge.shares.wait(for: client.subscriber, $0) }
        } else if left == 0, parser.hasInput {
            rest { edge.loop.inNextTurn($0) }
        }
        isHeldUp = isUnread
        if isResting || isHeldUp { channel.pauseReading() } else { channel.resumeReading() }
    }

    /// A client that takes none of its answers has no more of its messages read.
    private var isUnread: Bool { channel.pendingCost > edge.configuration.maxUnsentBytes / 2 }

    private func rest(until wakeUp: (@escaping () -> Void) -> Void) {
        isResting = true
        wakeUp { [self] in
            isResting = false
            if !isClosing { goOn() }
        }
    }

    /// - Returns: false if it is more than the client may have.
    private func countBytes() -> Bool {
        if isReleased { return true }
        return edge.count(
            parser.bufferedBytes + (channel.isStalled ? channel.pendingCost : 0), of: client.subscriber,
            in: &counted, as: standing) == nil
    }

    private var standing: ClientUsage.Standing {
        guard countedAddress == nil else { return .stranger }
        return if case .session(let session) = receiver { .known(person: session.person) } else { .known(person: nil) }
    }

    private func deliver(_ message: [UInt8], isBinary: Bool) {
        switch receiver {
        case .session(let session): session.webSocket(self, received: message[...], isBinary: isBinary)
        case .plain(let plain): plain.received(message[...], isBinary: isBinary)
        case nil: break
        }
    }

    // MARK: Writing

    var unsentCost: Int { channel.pendingCost }

    /// Takes a whole frame.
    func write(_ frame: [UInt8]) {
        channel.write(frame)
        if channel.isStalled, !countBytes() { return cutOff() }
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

    /// Says so, then closes once what is pending is written. The client's own close frame is read and dropped.
    func close(_ code: CloseCode, reason: String = "") { close(code.rawValue, reason: reason) }

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
