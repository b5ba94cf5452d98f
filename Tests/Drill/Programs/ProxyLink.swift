import ParlorReactor

/// One connection through a proxy, as the handler of both ends.
final class ProxyLink: ChannelHandler {
    private(set) var hasEnded = false
    private let near: Channel
    private var far: Channel?
    private var condition = BusProxy.NetworkCondition.clear
    /// Bytes to forward, to the bus and from it.
    private var up: [UInt8] = []
    private var down: [UInt8] = []
    private var timer: LoopTimer?

    init(_ near: Channel) { self.near = near }

    func attach(_ far: Channel) {
        self.far = far
        if hasEnded { far.abort() }
        pump()
    }

    func change(to condition: BusProxy.NetworkCondition) {
        self.condition = condition
        timer?.cancel()
        timer = nil
        pump()
    }

    func abort() {
        hasEnded = true
        timer?.cancel()
        near.abort()
        far?.abort()
    }

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        if channel === near { up += bytes } else { down += bytes }
        pump()
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        // Held data is lost with the connection, as with any.
        abort()
    }

    private func pump() {
        guard let far, !hasEnded, timer == nil, !(up.isEmpty && down.isEmpty) else { return }
        switch condition {
        case .clear: flush(far)
        case .silent: break
        case .slow(let delay):
            timer = near.loop.schedule(after: delay) { [self] in
                timer = nil
                flush(far)
            }
        case .torn:
            // Each byte takes a turn of its own, so that it becomes a segment of its own.
            timer = near.loop.schedule(after: .zero) { [self] in
                timer = nil
                if let byte = up.first {
                    far.write([byte])
                    up.removeFirst()
                }
                if let byte = down.first {
                    near.write([byte])
                    down.removeFirst()
                }
                pump()
            }
        }
    }

    private func flush(_ far: Channel) {
        far.write(up)
        near.write(down)
        up = []
        down = []
    }
}
