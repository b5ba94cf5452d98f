import MessageBus
import Reactor

/// One peer's TCP connection: bytes into lines for the broker, its outbox into bytes.
final class BrokerConnection: ChannelHandler {
    let peer: BrokerPeer
    private let channel: Channel
    private let host: BrokerHost
    private var lines = LineSplitter()

    init(_ channel: Channel, host: BrokerHost) {
        self.channel = channel
        self.host = host
        peer = host.broker.connect(at: host.now)
        host.add(self)
    }

    /// Hands over what waits, once what was handed over before is in the kernel's hands: so a peer that is cut off for
    /// being slow still gets whole lines, and the reason as the last of them.
    func flush() {
        let isClosing = peer.phase == .closing
        guard peer.handedOver == 0 || isClosing else { return }
        let bytes = peer.takeOutbox()
        if !bytes.isEmpty { channel.write(bytes) }
        peer.handedOver = channel.pendingBytes
        if isClosing { channel.close() }
    }

    func close() { channel.close() }
    func abort() { channel.abort() }

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        let now = host.now
        do throws(LineSplitter.LineTooLong) {
            try lines.split(bytes) { host.broker.receive($0, from: peer, at: now) }
        } catch {
            host.broker.receivedOverlongLine(from: peer)
        }
        host.flushAtEndOfTurn()
    }

    func channelDidDrain(_ channel: Channel) {
        peer.handedOver = 0
        flush()
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        host.broker.disconnect(peer)
        host.remove(self)
        host.flushAtEndOfTurn()
    }
}
