import ParlorReactor
import TestClients

/// The sender to `bench-floor`. It receives everything, too, and discards it.
final class FloorSource: ChannelHandler {
    private let channel: Channel

    private init(_ channel: Channel) { self.channel = channel }

    static func connect(to floor: ServerAddress, on loop: EventLoop) async throws(ClientError) -> FloorSource {
        do {
            let channel = try await loop.connect(host: floor.host, port: floor.port) { FloorSource($0) }
            guard let source = channel.handler as? FloorSource else { throw ClientError("the floor has gone") }
            return source
        } catch let error as ClientError {
            throw error
        } catch {
            throw ClientError("no connection to the floor: \(error)")
        }
    }

    func send(_ frame: [UInt8]) { channel.write(frame) }
    func close() { channel.abort() }

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {}
    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}
