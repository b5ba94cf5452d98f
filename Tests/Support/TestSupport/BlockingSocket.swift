import Glibc
import Synchronization

/// A client's end of a TCP connection to this machine on plain blocking calls, without any of the
/// tested code.
///
/// It may be used from several threads; each call blocks its thread, at most for a minute.
public final class BlockingSocket: Sendable {
    public let descriptor: Int32
    private let isClosed = Atomic<Bool>(false)

    /// Longer than anything that a test waits for, even on a busy machine.
    private static let maxWait = timeval(tv_sec: 60, tv_usec: 0)

    /// - Parameter receiveBuffer: in bytes; a small one makes a client that takes little before it reads.
    /// - Parameter source: the address to connect from, of 127.0.0.0/8: as bytes, in the order they are written.
    /// - Throws: `WireError`; `.refused` if nobody listens.
    public init(port: UInt16, receiveBuffer: Int32? = nil, from source: [UInt8]? = nil) throws {
        // Not inherited by a process that another test starts meanwhile, which would hold the
        // connection open.
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw WireError.failed("socket", errno) }
        setOption(SOL_SOCKET, SO_RCVTIMEO, Self.maxWait)
        setOption(SOL_SOCKET, SO_SNDTIMEO, Self.maxWait)
        // Tests send lines byte by byte: each has to be a packet of its own.
        setOption(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
        if let receiveBuffer { setOption(SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
        if let source, call(bind, [UInt8](source), 0) != 0 { throw WireError.failed("bind", errno) }
        let result = call(connect, [127, 0, 0, 1], port)
        guard result == 0 else { throw errno == ECONNREFUSED ? WireError.refused : WireError.failed("connect", errno) }
    }

    deinit { disconnect() }

    /// Calls `bind` or `connect`.
    private func call(
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ bytes: [UInt8], _ port: UInt16
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }.bigEndian
        return withUnsafeBytes(of: address) {
            function(
                descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }

    private func setOption(_ level: Int32, _ name: Int32, _ value: some BitwiseCopyable) {
        var value = value
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout.size(ofValue: value)))
    }

    /// Closes the socket at once.
    public func disconnect() {
        if !isClosed.exchange(true, ordering: .relaxed) { close(descriptor) }
    }

    public func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                retryingInterrupted {
                    Glibc.send(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
                }
            }
            guard count > 0 else { throw WireError.failed("send", errno) }
            sent += count
        }
    }

    public func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Returns the available bytes once there are any: up to 64 KiB. Empty at the end of the
    /// connection.
    public func receive() throws -> [UInt8] {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
            result = retryingInterrupted { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
            count = max(result, 0)
        }
        guard result >= 0 else { throw WireError.failed("recv", errno) }
        return bytes
    }

    /// Returns exactly so many bytes, or fewer at the end.
    public func receive(_ wanted: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: wanted)
        var filled = 0
        while filled < wanted {
            let count = bytes.withUnsafeMutableBytes { bytes in
                retryingInterrupted { recv(descriptor, bytes.baseAddress.map { $0 + filled }, wanted - filled, 0) }
            }
            guard count >= 0 else { throw WireError.failed("recv", errno) }
            if count == 0 { break }
            filled += count
        }
        return Array(bytes.prefix(filled))
    }

    public func receiveText(_ wanted: Int) throws -> String { String(decoding: try receive(wanted), as: UTF8.self) }

    /// Waits until the server closes. Returns true if it closed in order with nothing left to read, and false after a
    /// reset.
    public func isAtEnd() -> Bool {
        var byte: UInt8 = 0
        return retryingInterrupted { recv(descriptor, &byte, 1, 0) } == 0
    }

    /// Repeats a call that ends with `EINTR`: a process that was stopped and continued has its
    /// timed calls interrupted (signal(7)).
    private func retryingInterrupted(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    public func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }
}

/// The failure of a test client.
public enum WireError: Error, Equatable {
    /// Nobody listens on the port.
    case refused
    /// A system call failed with an `errno`: `EAGAIN` when it took too long.
    case failed(String, Int32)
    /// The received data is not what this client can read.
    case unexpected(String)
}
