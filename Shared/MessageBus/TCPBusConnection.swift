import JSON
import Reactor

/// One connection of a `TCPBus`, from hello to its end. On the bus' loop only.
final class TCPBusConnection: ChannelHandler {
    /// How long the broker has for its welcome, and how often it is pinged at least, whatever it says itself.
    private static let standardInterval: Duration = .seconds(5)
    /// A broker that is silent for so many intervals is dead.
    private static let maxSilentIntervals = 3

    private let channel: Channel
    private let bus: TCPBus
    private let loop: EventLoop
    private var lines = LineSplitter()
    private var isWelcome = false
    private var refusal: String?
    private var interval = standardInterval
    private var lastHeard = LoopInstant.now()
    private var keepalive: LoopTimer?
    private var deadlines: LoopTimer?
    /// A flush may have been asked for before: a timer that it started would outlive this.
    private var isOver = false

    init(_ channel: Channel, bus: TCPBus) {
        self.channel = channel
        self.bus = bus
        loop = bus.loop
        var hello: [UInt8] = []
        LineWriter.hello(name: bus.name, token: bus.token, to: &hello)
        channel.write(hello)
        keepalive = loop.schedule(after: interval) { [unowned self] in checkLife() }
    }

    /// Sends what the bus has for this turn, and looks after deadlines while there are any.
    func flush() {
        if isOver { return }
        let bytes = bus.takeOutgoing(for: LoopBound(self, to: loop))
        if !bytes.isEmpty {
            channel.write(bytes)
            bus.sent(stillPending: channel.pendingBytes)
        }
        if deadlines == nil, bus.hasDeadlines { tick() }
    }

    func close() {
        flush()
        channel.close()
    }

    private func tick() {
        guard let deadlines else {
            deadlines = loop.schedule(after: PendingRequests<Void>.tick) { [unowned self] in
                bus.expire()
                if bus.hasDeadlines { tick() } else { stopTicking() }
            }
            return
        }
        deadlines.rearm(after: PendingRequests<Void>.tick)
    }

    private func stopTicking() {
        deadlines?.cancel()
        deadlines = nil
    }

    private func checkLife() {
        let silence = LoopInstant.now() - lastHeard
        guard isWelcome, silence < interval * Self.maxSilentIntervals else { return channel.abort() }
        if silence >= interval { bus.pingIfIdle() }
        keepalive?.rearm(after: interval)
    }

    // MARK: ChannelHandler

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        lastHeard = loop.now
        do throws(LineSplitter.LineTooLong) {
            try lines.split(bytes) { heard($0) }
        } catch {
            // Where the next line begins cannot be known.
            bus.countMalformed()
            channel.abort()
        }
    }

    private func heard(_ line: UnsafeRawBufferPointer) {
        let parsed: BusLine
        do throws(BusLineError) {
            parsed = try BusLine(line)
        } catch {
            return bus.countMalformed()
        }
        guard !isWelcome else { return bus.heard(line, parsed) }
        switch parsed.operation {
        case .welcome:
            if let milliseconds = parsed.pingInterval, milliseconds > 0 {
                interval = min(.milliseconds(milliseconds), interval)
            }
            isWelcome = true
            keepalive?.rearm(after: interval)
            if !bus.connected(LoopBound(self, to: loop)) { channel.close() }
        case .err: refusal = line.string(at: parsed.message) ?? line.string(at: parsed.code) ?? "no reason given"
        default: bus.countMalformed()
        }
    }

    func channelDidDrain(_ channel: Channel) { bus.sent(stillPending: 0) }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        isOver = true
        keepalive?.cancel()
        stopTicking()
        bus.disconnected(refusal: refusal)
    }
}
