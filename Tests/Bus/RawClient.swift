import Glibc

/// A plain socket: what nc is to a person. Waiting is bounded by the kernel's receive time-out.
final class RawClient {
    private let descriptor: Int32
    private var received: [UInt8] = []

    struct Failure: Error {
        let reason: String
    }

    /// - Parameter receiveBuffer: in bytes, for a client that is to be slow.
    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(reason: "socket: \(errno)") }
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var noDelay: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failure(reason: "connect: \(errno)") }
    }

    deinit { close() }

    private var isClosed = false

    func close() {
        guard !isClosed else { return }
        isClosed = true
        Glibc.close(descriptor)
    }

    func send(_ bytes: some Collection<UInt8>) throws {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Failure(reason: "send: \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    func send(line: String) throws { try send(Array("\(line)\n".utf8)) }

    /// Every byte in a packet of its own, as far as the kernel plays along.
    func send(lineByByte line: String) throws {
        for byte in Array("\(line)\n".utf8) { try send([byte]) }
    }

    /// Says hello and takes the welcome.
    func greet() throws {
        try send(line: #"{"op":"hello","version":1,"name":"raw"}"#)
        guard try receiveLine()?.hasPrefix(#"{"op":"welcome""#) == true else { throw Failure(reason: "no welcome") }
    }

    /// Returns when all that was sent before has been done by the broker.
    func settle() throws {
        try send(line: #"{"op":"ping"}"#)
        guard try receiveLine() == #"{"op":"pong"}"# else { throw Failure(reason: "no pong") }
    }

    /// Without its newline; nil at the end of the stream.
    func receiveLine() throws -> String? {
        while true {
            if let newline = received.firstIndex(of: UInt8(ascii: "\n")) {
                defer { received.removeSubrange(...newline) }
                return String(decoding: received[..<newline], as: UTF8.self)
            }
            guard try receive() else {
                guard received.isEmpty else { throw Failure(reason: "the stream ends within a line") }
                return nil
            }
        }
    }

    /// Reads all there is until the end, as lines.
    func receiveToTheEnd() throws -> [String] {
        while try receive() {}
        guard received.isEmpty || received.last == UInt8(ascii: "\n") else {
            throw Failure(reason: "the stream ends within a line")
        }
        return received.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    /// - Returns: false at the end of the stream.
    private func receive() throws -> Bool {
        var result = 0
        received += [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
            result = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            count = max(0, result)
        }
        guard result >= 0 else { throw Failure(reason: "recv: \(errno)") }
        return result > 0
    }
}
