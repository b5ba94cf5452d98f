import CParlorLinux
import Glibc

/// A non-blocking TCP socket's descriptor and the calls on it. A plain value: its owner closes it.
struct Socket: Sendable {
    let descriptor: Int32

    /// The result of a read or a write.
    enum Transfer {
        case bytes(Int)
        case wouldBlock
        case failed(SystemError)
    }

    init(descriptor: Int32) { self.descriptor = descriptor }

    init(family: Int32) throws(SystemError) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = Glibc.socket(family, type, 0)
        guard descriptor >= 0 else { throw .last("socket") }
    }

    @inline(__always) func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        transfer("recv") { Glibc.recv(descriptor, buffer.baseAddress, buffer.count, 0) }
    }

    /// Discards received bytes in the kernel without copying them (tcp(7), `MSG_TRUNC`).
    func discard(atMost count: Int) -> Transfer {
        transfer("recv") { Glibc.recv(descriptor, nil, count, Int32(MSG_TRUNC)) }
    }

    /// Sends bytes. A peer that is gone causes an error, not a SIGPIPE.
    @inline(__always) func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        transfer("send") { Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    @inline(__always) private func transfer(_ call: String, _ body: () -> Int) -> Transfer {
        while true {
            let count = body()
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            default: return .failed(.last(call))
            }
        }
    }

    /// Accepts a connection; nil if none waits.
    func accept() throws(SystemError) -> (Socket, PeerAddress)? {
        var accepted: Int32 = -1
        let address = SocketAddress { pointer, length in
            accepted = accept4(descriptor, pointer, length, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
        }
        guard accepted >= 0 else {
            if errno == EAGAIN { return nil }
            throw .last("accept")
        }
        return (Socket(descriptor: accepted), PeerAddress(address))
    }

    /// Starts to connect. Returns false while the connection is in progress.
    func connect(to address: SocketAddress) throws(SystemError) -> Bool {
        let result = address.withPointer { Glibc.connect(descriptor, $0, $1) }
        if result == 0 { return true }
        // An interrupted connect continues in the background (POSIX), like one in progress.
        if errno == EINPROGRESS || errno == EINTR { return false }
        throw .last("connect")
    }

    func bind(to address: SocketAddress) throws(SystemError) {
        guard address.withPointer({ Glibc.bind(descriptor, $0, $1) }) == 0 else { throw .last("bind") }
    }

    func listen(backlog: Int32) throws(SystemError) {
        guard Glibc.listen(descriptor, backlog) == 0 else { throw .last("listen") }
    }

    func localAddress() throws(SystemError) -> SocketAddress {
        try SocketAddress { (pointer, length) throws(SystemError) in
            guard getsockname(descriptor, pointer, length) == 0 else { throw .last("getsockname") }
        }
    }

    /// Reads and clears the pending error.
    func takeError() -> SystemError? {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return code == 0 ? nil : SystemError("socket", code: code)
    }

    func set(_ option: Int32, at level: Int32 = SOL_SOCKET, to value: Int32 = 1) {
        var value = value
        // Fails only for a wrong argument or on a socket that is gone, which the next read or write reports.
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Disables Nagle's algorithm: output is already joined per loop turn and must not wait in the
    /// kernel for more.
    func setNoDelay() { set(TCP_NODELAY, at: Int32(IPPROTO_TCP)) }

    func boundUnread(bytes: Int32, milliseconds: Int32) {
        set(TCP_NOTSENT_LOWAT, at: Int32(IPPROTO_TCP), to: bytes)
        set(TCP_USER_TIMEOUT, at: Int32(IPPROTO_TCP), to: milliseconds)
    }

    /// The bytes that the kernel holds for the peer, sent or not (tcp(7), `SIOCOUTQ`). A FIN counts there as a byte, so one
    /// byte is left out.
    var unacknowledgedBytes: Int {
        var count: Int32 = 0
        guard ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 else { return 0 }
        return Int(max(count - 1, 0))
    }

    /// Sends FIN; input continues.
    func shutdownOutput() { _ = Glibc.shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes `close` discard unsent output and send RST.
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    func close() { _ = Glibc.close(descriptor) }
}

/// A system call that failed: which one, and its `errno`.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    public let call: String
    public let code: Int32

    public init(_ call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Creates an error from `errno`, so it must directly follow the failed call.
    static func last(_ call: String) -> SystemError { SystemError(call, code: errno) }

    /// The call and the error's text. glibc's `strerror` is safe here: it has a buffer per thread since 2.32, and
    /// before that the texts of known codes are constants.
    public var description: String { "\(call): \(strerror(code).map { String(cString: $0) } ?? "error") (\(code))" }
}
