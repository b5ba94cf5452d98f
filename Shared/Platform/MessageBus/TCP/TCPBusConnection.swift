import ParlorJSON
import ParlorReactor

/// A connection of a `TCPBusLink`, from its first byte to its end. On the link's loop only.
final class TCPBusConnection: ChannelHandler {
    /// The time limit for the broker's welcome, and the longest interval between pings, whatever the broker
    /// requests.
    private static let standardInterval: Duration = .seconds(5)
    /// The number of silent intervals after which a broker counts as dead.
    private static let maxSilentIntervals = 3

    private let channel: Channel
    private let link: TCPBusLink
    private let loop: EventLoop
    private let address: BusAddress
    private var reader: any BusReader
    private var isWelcome = false
    private var refusal: String?
    private var interval = standardInterval
    private var lastReceivedAt = LoopInstant.now()
    private var keepalive: LoopTimer?
    private var deadlines: LoopTimer?
    /// True once the connection has ended. A flush that was requested earlier may still come, and a timer that it
    /// started would outlive this object.
    private var isOver = false

    init(_ channel: Channel, to address: BusAddress, link: TCPBusLink) {
        self.channel = channel
        self.address = address
        self.link = link
        loop = link.loop
        reader = link.wire.makeReader(name: link.name)
        if !reader.opening.isEmpty { channel.write(reader.opening) }
        keepalive = loop.schedule(after: interval) { [unowned self] in checkLife() }
    }

    /// Sends the bus's output of this turn, and schedules a call when the next deadline passes.
    func flush() {
        if isOver { return }
        let (bytes, expiry) = link.takeOutgoing(for: LoopBound(self, to: loop))
        if !bytes.isEmpty {
            channel.write(bytes)
            link.sent(stillUnsent: channel.unsentBytes)
        }
        if let expiry { watchDeadlines(in: expiry) }
    }

    func close() {
        flush()
        channel.close()
    }

    private func watchDeadlines(in time: Duration) {
        if let deadlines { return deadlines.rearm(after: time) }
        deadlines = loop.schedule(after: time) { [unowned self] in link.expire() }
    }

    private func checkLife() {
        let silence = LoopInstant.now() - lastReceivedAt
        guard isWelcome, silence < interval * Self.maxSilentIntervals else { return channel.abort() }
        if silence >= interval { link.pingIfIdle() }
        keepalive?.rearm(after: interval)
    }

    // MARK: ChannelHandler

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        lastReceivedAt = loop.now
        do throws(BusReadError) {
            try reader.read(bytes) { handle($0) }
        } catch {
            link.countMalformed()
            link.warn("the bus at \(address) is not understood: \(error.reason)")
            channel.abort()
        }
    }

    private func handle(_ message: BrokerMessage) {
        // Messages after a refusal are ignored.
        guard refusal == nil else { return }
        switch message {
        case .answer(let bytes): channel.write(bytes)
        case .welcome(let welcome):
            interval = min(welcome.pingInterval ?? interval, interval)
            isWelcome = true
            keepalive?.rearm(after: interval)
            if !link.connected(LoopBound(self, to: loop), welcome) { channel.close() }
        case .refusal(let reason):
            refusal = reason
            channel.close()
        default: link.handle(message)
        }
    }

    func channelDidDrain(_ channel: Channel) { link.sent(stillUnsent: 0) }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        isOver = true
        keepalive?.cancel()
        deadlines?.cancel()
        link.disconnected(from: address, refusal: refusal)
    }
}
