import Foundation
import ParlorTestSupport

/// An HTTP/1.1 server that gives each request on a connection the same answer, or none.
final class PlainServer: Sendable {
    private let reservation: ReservedPort
    private let descriptor: Int32

    init(answer: String? = nil) throws {
        reservation = try ReservedPort()
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var isOn: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = reservation.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafeBytes(of: address) {
            bind(
                descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        guard result == 0, listen(descriptor, 16) == 0 else { throw WireError.failed("listen", errno) }
        // Without an answer the kernel takes the connections, and nobody reads them.
        guard let answer else { return }
        Thread.detachNewThread { [descriptor] in
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                Self.serve(connection, answer)
                close(connection)
            }
        }
    }

    /// Its thread ends with it.
    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    var url: String { "http://127.0.0.1:\(reservation.port)/" }

    private static func serve(_ connection: Int32, _ answer: String) {
        var request = ""
        var piece = [UInt8](repeating: 0, count: 4096)
        while case let count = read(connection, &piece, piece.count), count > 0 {
            request += String(decoding: piece.prefix(count), as: UTF8.self)
            guard request.hasSuffix("\r\n\r\n") else { continue }
            request = ""
            let bytes = Array(answer.utf8)
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                sent += count
            }
        }
    }
}
