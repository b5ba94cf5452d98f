import ParlorMessageBus
import ParlorReactor

/// Runs the broker on its loop: connections, the end of each turn, and timers. On the loop only.
final class BrokerHost {
    let broker: Broker
    let loop: EventLoop
    private let start = LoopInstant.now()
    private var connections: [UInt64: BrokerConnection] = [:]
    private var isFlushing = false
    private var deadlines: LoopTimer?
    private var watch = ExpiryWatch()
    private var housekeeping: LoopTimer?
    private var whenDrained: (() -> Void)?
    private let publishCounters: (BrokerCounters) -> Void

    /// - Parameter publishCounters: called after each turn with activity.
    init(
        settings: BrokerSettings, loop: EventLoop, notify: @escaping (BrokerNotice) -> Void,
        publishCounters: @escaping (BrokerCounters) -> Void
    ) {
        broker = Broker(settings: settings, notify: notify)
        self.loop = loop
        self.publishCounters = publishCounters
        // A quarter of the shortest timeout, so each timeout is noticed at most that much late.
        let interval = min(settings.pingInterval, settings.helloTimeout) / 4
        housekeeping = loop.schedule(after: interval) { [unowned self] in
            broker.tick(at: now)
            flushAtEndOfTurn()
            housekeeping?.rearm(after: interval)
        }
    }

    var now: Duration { loop.now - start }

    func add(_ connection: BrokerConnection) { connections[connection.peer.id] = connection }

    func remove(_ connection: BrokerConnection) {
        connections[connection.peer.id] = nil
        finishDraining()
    }

    /// Combines a turn's output for each peer into one write.
    func flushAtEndOfTurn() {
        guard !isFlushing else { return }
        isFlushing = true
        loop.atEndOfTurn { [self] in
            isFlushing = false
            for peer in broker.takeReadyPeers() { connections[peer.id]?.flush() }
            for peer in broker.backPressure.takeResumed() { connections[peer.id]?.resume() }
            publishCounters(broker.counters)
            watchDeadlines()
            finishDraining()
        }
    }

    /// Sets the timer for the next deadline, if it is earlier than the current one.
    private func watchDeadlines() {
        guard let next = watch.move(to: broker.nextExpiry) else { return }
        if let deadlines { return deadlines.rearm(after: next - now) }
        deadlines = loop.schedule(after: next - now) { [unowned self] in
            watch.end()
            broker.expire(at: now)
            flushAtEndOfTurn()
        }
    }

    func admit(by access: BrokerAccess) {
        broker.admit(by: access)
        flushAtEndOfTurn()
    }

    // MARK: Draining

    /// Calls back when no request is in progress and every connection is closed.
    func drain(_ done: @escaping () -> Void) {
        whenDrained = done
        broker.startDraining()
        finishDraining()
    }

    /// Ends requests in progress without their replies, and gives peers the grace period to take their queued
    /// output.
    func stopWaiting(grace: Duration) {
        for connection in connections.values { broker.disconnect(connection.peer) }
        flushAtEndOfTurn()
        loop.schedule(after: grace) { [self] in
            for connection in connections.values { connection.abort() }
        }
    }

    private func finishDraining() {
        guard let done = whenDrained, !broker.hasRequests else { return }
        guard connections.isEmpty else {
            for connection in connections.values {
                connection.flush()
                connection.close()
            }
            return
        }
        whenDrained = nil
        housekeeping?.cancel()
        deadlines?.cancel()
        done()
    }
}

/// A peer's TCP connection, which converts bytes into lines for the broker, and its outbox into bytes.
final class BrokerConnection: ChannelHandler {
    let peer: BrokerPeer
    private let channel: Channel
    private let host: BrokerHost
    private var lines = LineSplitter()

    init(_ channel: Channel, host: BrokerHost) {
        self.channel = channel
        self.host = host
        peer = host.broker.connect(at: host.now)
        peer.countHandedOver = { [weak channel] in channel?.unsentBytes ?? 0 }
        host.add(self)
    }

    /// Writes the outbox, once the kernel has taken the earlier output. So a peer that is disconnected as a
    /// slow reader still gets whole lines, with the reason as the last one.
    func flush() {
        let isClosing = peer.phase == .closing
        guard peer.handedOver == 0 || isClosing else { return }
        let bytes = peer.takeOutbox()
        if !bytes.isEmpty { channel.write(bytes) }
        peer.handedOver = channel.unsentBytes
        if isClosing { channel.close() }
    }

    func close() { channel.close() }
    func abort() { channel.abort() }

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        let now = host.now
        do throws(LineSplitter.LineTooLong) {
            try lines.split(bytes) { host.broker.receive($0, from: peer, at: now) }
            if peer.phase == .new, lines.begunBytes > Broker.maxHello { throw LineSplitter.LineTooLong() }
        } catch {
            host.broker.receivedOverlongLine(from: peer)
        }
        if let pause = host.broker.pause(of: peer) {
            peer.waitsFor += 1
            host.loop.schedule(after: pause) { [self] in
                peer.waitsFor -= 1
                resume()
            }
        }
        // The bytes that the peer sends meanwhile wait in the kernel; once that is full, in the peer.
        if peer.waitsFor > 0 { channel.pauseReading() }
        host.flushAtEndOfTurn()
    }

    /// Resumes reading, unless the peer has been held again in the meantime.
    func resume() {
        guard peer.waitsFor == 0, peer.phase != .closing else { return }
        channel.resumeReading()
    }

    func channelDidDrain(_ channel: Channel) {
        peer.handedOver = 0
        host.broker.backPressure.noteDrained(peer)
        flush()
        host.flushAtEndOfTurn()
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        host.broker.disconnect(peer)
        host.remove(self)
        host.flushAtEndOfTurn()
    }
}
