import CParlorLinux
import Glibc

/// An IPv4 or IPv6 address with its port, as the socket calls take it.
struct SocketAddress: Sendable {
    /// The 28 bytes of the larger of the two forms. For IPv4, `sockaddr_in` is at its start.
    private var storage = sockaddr_in6()

    /// Creates an address with a call that writes one, such as `accept4` or `getsockname`.
    init<Failure: Error>(
        filledBy body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) throws(Failure) -> Void
    ) throws(Failure) {
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let outcome: Result<Void, Failure> = withUnsafeMutableBytes(of: &storage) { bytes in
            // A local variable of 28 bytes has a base address.
            let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            do throws(Failure) { return .success(try body(address, &length)) } catch { return .failure(error) }
        }
        try outcome.get()
    }

    /// Copies an address; nil for other families.
    private init?(_ entry: addrinfo) {
        guard entry.ai_family == AF_INET || entry.ai_family == AF_INET6, let address = entry.ai_addr else { return nil }
        let length = min(Int(entry.ai_addrlen), MemoryLayout<sockaddr_in6>.size)
        withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: .init(start: address, count: length)) }
    }

    var family: Int32 { Int32(storage.sin6_family) }
    private var length: socklen_t {
        socklen_t(family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
    }

    /// The port, which is at the same offset in both forms.
    var port: UInt16 {
        get { UInt16(bigEndian: storage.sin6_port) }
        set { storage.sin6_port = newValue.bigEndian }
    }

    /// The IPv4 address in the machine's byte order. `sin_addr` is at the offset of IPv6's flow label.
    var ipv4: UInt32 { UInt32(bigEndian: storage.sin6_flowinfo) }

    /// The IPv6 address in the machine's byte order.
    var ipv6Halves: (high: UInt64, low: UInt64) {
        withUnsafeBytes(of: storage.sin6_addr) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    func withPointer<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        withUnsafeBytes(of: storage) { bytes in
            // A local variable of 28 bytes has a base address.
            body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), length)
        }
    }

    /// Returns the addresses of a host, in the order to try them. For a literal it returns at once; for a
    /// name it may block for seconds.
    static func resolve(host: String, port: UInt16, literalOnly: Bool) throws(ResolveError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = literalOnly ? AI_NUMERICHOST : 0
        var list: UnsafeMutablePointer<addrinfo>?
        // A NUL would end the name early for C, so that it would name another host.
        guard !host.isEmpty, !host.utf8.contains(0) else { throw ResolveError(code: EAI_NONAME) }
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { throw ResolveError(code: code) }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var entry = list
        while let current = entry {
            if var address = SocketAddress(current.pointee) {
                address.port = port
                found.append(address)
            }
            entry = current.pointee.ai_next
        }
        return found
    }
}

/// The error of `getaddrinfo`.
struct ResolveError: Error, CustomStringConvertible {
    let code: Int32

    var description: String { String(cString: gai_strerror(code)) }
}
