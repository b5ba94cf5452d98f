import Foundation
import ParlorStorage
import Synchronization

/// Stands between libpq and a server on a Unix socket: counts the round trips, cuts connections, and delays what passes.
///
/// It never ends; its threads wait for the process to end.
public final class PostgresProxy: Sendable {
    private struct State {
        var ofWrites = 0
        var ofReads = 0
        var passed = 0
        /// The bytes, of both directions, after which all connections are cut; nil for never.
        var left: Int?
    }

    public let port: UInt16
    private let delay: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - path: the server's socket; by default that of the tests' shared server.
    ///   - roundTrip: what a round trip takes longer than without the proxy.
    public init(to path: String? = nil, roundTrip: Duration = .zero) throws {
        delay = roundTrip / 2
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutableBytes(of: &address) { bytes -> UInt16? in
            guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                bind(listener, address, size) == 0, listen(listener, 16) == 0,
                getsockname(listener, address, &size) == 0
            else { return nil }
            return bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian
        }
        guard let port else { throw WireError.failed("listen", errno) }
        self.port = port
        let server = try path ?? PostgresServer.shared.get().socketPath
        Thread.detachNewThread {
            while case let near = accept(listener, nil, nil), near >= 0 {
                guard let far = Self.connect(to: server) else {
                    close(near)
                    continue
                }
                var on: Int32 = 1
                setsockopt(near, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout.size(ofValue: on)))
                let link = Link(near: near, far: far)
                Thread.detachNewThread { self.forward(from: near, to: far, Requests(), link) }
                Thread.detachNewThread { self.forward(from: far, to: near, nil, link) }
            }
        }
    }

    /// The address of the tests' server through the proxy.
    public func url() throws -> PostgresURL {
        let text = "postgres://postgres@127.0.0.1:\(port)/postgres?sslmode=disable&gssencmode=disable"
        guard let url = PostgresURL(text) else { throw WireError.unexpected(text) }
        return url
    }

    /// - Returns: the round trips since the last call: the flushes that the client waits for. It does not wait for a flush
    ///   that only rolls a read back.
    public func takeRoundTrips() -> (ofWrites: Int, ofReads: Int) {
        state.withLock { (exchange(&$0.ofWrites, 0), exchange(&$0.ofReads, 0)) }
    }

    /// - Returns: the bytes since the last call, of both directions.
    public func takePassed() -> Int { state.withLock { exchange(&$0.passed, 0) } }

    /// Cuts all connections once so many more bytes have passed, in both directions together. Later ones are not cut.
    public func cut(after bytes: Int) { state.withLock { $0.left = bytes } }

    private func exchange(_ value: inout Int, _ new: Int) -> Int {
        defer { value = new }
        return value
    }

    private func forward(from source: Int32, to target: Int32, _ requests: Requests?, _ link: Link) {
        var requests = requests
        var bytes = [UInt8](repeating: 0, count: 256 * 1024)
        while case let count = recv(source, &bytes, bytes.count, 0), count > 0 {
            let allowed = state.withLock { state in
                state.passed += count
                let flushes = requests?.flushes(in: bytes[..<count]) ?? 0
                if requests?.isWriting ?? false { state.ofWrites += flushes } else { state.ofReads += flushes }
                guard let left = state.left else { return count }
                state.left = left > count ? left - count : nil
                return min(left, count)
            }
            if delay > .zero { usleep(UInt32(delay / .microseconds(1))) }
            var sent = 0
            while sent < allowed {
                let written = bytes.withUnsafeBytes {
                    send(target, $0.baseAddress.map { $0 + sent }, allowed - sent, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { break }
                sent += written
            }
            if sent < count { break }
        }
        link.shutDown()
    }

    private static func connect(to path: String) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let result = withUnsafeBytes(of: address) {
            Glibc.connect(
                descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_un>.size))
        }
        if result == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    /// The two sockets of a connection, closed when both directions have ended.
    private final class Link: Sendable {
        private let near, far: Int32

        init(near: Int32, far: Int32) {
            self.near = near
            self.far = far
        }

        deinit {
            close(near)
            close(far)
        }

        func shutDown() {
            shutdown(near, Int32(SHUT_RDWR))
            shutdown(far, Int32(SHUT_RDWR))
        }
    }

    /// A client's messages: a type and a length each; the first has no type.
    private struct Requests {
        private var rest: [UInt8] = []
        private var hasBegun = false
        private var texts: [[UInt8]: String] = [:]
        /// The statements of the current flush.
        private var statements: [String] = []
        /// True once the client has taken a schema's lock.
        private(set) var isWriting = false

        /// Takes some bytes, and returns the number of flushes that end in them.
        mutating func flushes(in bytes: ArraySlice<UInt8>) -> Int {
            rest += bytes
            var flushes = 0
            var at = 0
            while case let start = at + (hasBegun ? 1 : 0), start + 4 <= rest.count {
                let length = rest[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
                guard start + length <= rest.count else { break }
                if hasBegun, take(rest[at], rest[start + 4..<start + length]) { flushes += 1 }
                hasBegun = true
                at = start + length
            }
            rest.removeFirst(at)
            return flushes
        }

        /// - Returns: true if the client now waits.
        private mutating func take(_ type: UInt8, _ content: ArraySlice<UInt8>) -> Bool {
            let names = content.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false).map { Array($0) }
            switch type {
            case UInt8(ascii: "P"):
                texts[names[0]] = String(decoding: names[1], as: UTF8.self)
                isWriting = isWriting || texts[names[0]]?.contains("pg_advisory_xact_lock") ?? false
            case UInt8(ascii: "B"): statements.append(texts[names[1]] ?? "")
            case UInt8(ascii: "Q"): return true
            case UInt8(ascii: "S"):
                defer { statements = [] }
                return statements != ["ROLLBACK"]
            default: break
            }
            return false
        }
    }
}
