import CLinux
import Glibc

/// The IP address and port of the other end of a connection.
///
/// An IPv4 address that came through an IPv6 socket (`::ffff:10.0.0.1`) is the IPv4 address, so that limits per
/// address count one peer once.
public struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address in network order: 16 bytes of IPv6, or of IPv4 in the mapped form (RFC 4291, section 2.5.5.2).
    private let high: UInt64
    private let low: UInt64
    public let port: UInt16

    private static let mappedPrefix: UInt64 = 0x0000_FFFF << 32

    init(_ address: SocketAddress) {
        port = address.port
        switch address.family {
        case AF_INET6:
            (high, low) = address.ipv6Halves
        default:
            high = 0
            low = Self.mappedPrefix | UInt64(address.ipv4)
        }
    }

    public var isIPv6: Bool { high != 0 || low & 0xFFFF_FFFF_0000_0000 != Self.mappedPrefix }

    /// `10.0.0.1`, or `2001:db8::1` in the form of RFC 5952.
    public var ip: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            let printed: UnsafePointer<CChar>?
            if isIPv6 {
                var bytes = (high.bigEndian, low.bigEndian)
                printed = inet_ntop(AF_INET6, &bytes, text.baseAddress, socklen_t(text.count))
            } else {
                var bytes = UInt32(truncatingIfNeeded: low).bigEndian
                printed = inet_ntop(AF_INET, &bytes, text.baseAddress, socklen_t(text.count))
            }
            return printed.map { String(cString: $0) } ?? "?"
        }
    }

    public var description: String { isIPv6 ? "[\(ip)]:\(port)" : "\(ip):\(port)" }
}
