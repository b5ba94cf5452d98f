/// The address and port of the other end of a connection.
public struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    public let ip: IPAddress
    public let port: UInt16

    init(_ address: SocketAddress) {
        ip = IPAddress(address)
        port = address.port
    }

    public var description: String { ip.isIPv6 ? "[\(ip)]:\(port)" : "\(ip):\(port)" }
}
