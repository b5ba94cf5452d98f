import Glibc

/// A loopback port without a listener, which the system assigns to nobody else during this object's
/// life. A listener that names it may use it.
public final class ReservedPort: Sendable {
    public let port: UInt16
    private let descriptor: Int32

    /// - Throws: `WireError`.
    public init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        guard descriptor >= 0 else { throw WireError.failed("socket", errno) }
        // Linux lets several sockets with this option bind one port, as long as none listens yet.
        var isOn: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 ? getsockname(descriptor, address, &length) : -1
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard result == 0 else { throw WireError.failed("bind", errno) }
    }

    deinit { close(descriptor) }
}
