import Glibc

/// An IPv4 or IPv6 address.
///
/// An IPv4 address in its IPv6 form (`::ffff:10.0.0.1`) equals the IPv4 address, so that limits per address
/// count a peer once.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The two halves of the address in the machine's byte order: 16 bytes of IPv6, or of IPv4 in the mapped
    /// form (RFC 4291, section 2.5.5.2).
    private let high: UInt64
    private let low: UInt64

    private static let mappedPrefix: UInt64 = 0x0000_FFFF << 32

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    private init(ipv4 address: UInt32) { self.init(high: 0, low: Self.mappedPrefix | UInt64(address)) }

    init(_ address: SocketAddress) {
        switch address.family {
        case AF_INET6: self.init(high: address.ipv6Halves.high, low: address.ipv6Halves.low)
        default: self.init(ipv4: address.ipv4)
        }
    }

    /// Parses `10.0.0.1` or `2001:db8::1`. Returns nil for anything else, such as a name, a port or a zone.
    public init?(_ text: String) {
        // A NUL would end the text early for C.
        guard !text.utf8.contains(0) else { return nil }
        var ipv4 = in_addr()
        if inet_pton(AF_INET, text, &ipv4) == 1 {
            self.init(ipv4: UInt32(bigEndian: ipv4.s_addr))
            return
        }
        var halves: (UInt64, UInt64) = (0, 0)
        guard inet_pton(AF_INET6, text, &halves) == 1 else { return nil }
        self.init(high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1))
    }

    /// Parses an address with or without a port: `10.0.0.1:80`, `[2001:db8::1]:80`, `[2001:db8::1]`.
    public init?(perhapsWithPort text: String) {
        var address = text[...]
        var port: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            address = text[text.index(after: text.startIndex)..<end]
            port = text[text.index(after: end)...]
        } else if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon {
            address = text[..<colon]
            port = text[colon...]
        }
        if let port, !port.isEmpty {
            guard port.first == ":", UInt16(port.dropFirst()) != nil else { return nil }
        }
        self.init(String(address))
    }

    public var isIPv6: Bool { high != 0 || low & 0xFFFF_FFFF_0000_0000 != Self.mappedPrefix }

    /// The number of bits in an address of this kind.
    public var bitCount: Int { isIPv6 ? 128 : 32 }

    /// Returns the first address of the range that begins with the same bits.
    ///
    /// - Parameter count: 0 to `bitCount`.
    public func keeping(firstBits count: Int) -> IPAddress {
        let kept = count + 128 - bitCount
        // A shift by all 64 bits leaves none.
        return IPAddress(
            high: high & UInt64.max << (64 - min(kept, 64)), low: low & UInt64.max << (64 - max(kept - 64, 0)))
    }

    /// The unit for per-address limits: an IPv4 address, or the first 64 bits of an IPv6 address. A provider gives each
    /// IPv6 customer at least such a network, and the customer can use all of its addresses (RFC 6177).
    public var subscriber: IPAddress { isIPv6 ? keeping(firstBits: 64) : self }

    /// The text `10.0.0.1`, or `2001:db8::1` in the form of RFC 5952.
    public var description: String {
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
}

/// A range of addresses that begin with the same bits (RFC 4632, section 3.1).
public struct IPNetwork: Hashable, Sendable {
    private let first: IPAddress
    private let prefixLength: Int

    /// Parses `10.0.0.0/8` or `2001:db8::/32`, where the bits after the prefix are ignored, or a single
    /// address.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let address = IPAddress(parts[0]) else { return nil }
        var length = address.bitCount
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let given = Int(parts[1]), given <= length
            else { return nil }
            length = given
        }
        first = address.keeping(firstBits: length)
        prefixLength = length
    }

    /// True if the range is wider than any private one: 10.0.0.0/8 (RFC 1918) and fc00::/7 (RFC 4193).
    public var isWiderThanPrivate: Bool { prefixLength < (first.isIPv6 ? 7 : 8) }

    /// Returns true if the address is in the range. IPv4 addresses are in no range of IPv6.
    public func contains(_ address: IPAddress) -> Bool {
        address.isIPv6 == first.isIPv6 && address.keeping(firstBits: prefixLength) == first
    }
}

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
