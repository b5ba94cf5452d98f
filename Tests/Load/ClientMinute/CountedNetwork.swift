import Foundation
import ParlorClient
import ParlorLinuxWebSocket
import Synchronization

/// A device's real network, which counts requests and frames.
final class CountedNetwork: HTTPTransport, SocketTransport {
    struct Traffic: Sendable {
        var requests = 0
        /// Messages of the WebSocket that arrived, and that were sent.
        var received = 0
        var sent = 0
    }

    private let http: URLSessionTransport
    private let sockets = WebSocketTransport()
    private let counts = Mutex(Traffic())

    var traffic: Traffic { counts.withLock { $0 } }

    init(to server: URL) { http = URLSessionTransport(base: server) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        counts.withLock { $0.requests += 1 }
        return try await http.send(request)
    }

    func connect(to url: URL) async throws -> any SocketConnection {
        Counted(try await sockets.connect(to: url), by: self)
    }

    private final class Counted: SocketConnection {
        private let connection: any SocketConnection
        private let network: CountedNetwork

        init(_ connection: any SocketConnection, by network: CountedNetwork) {
            self.connection = connection
            self.network = network
        }

        func send(_ text: String) async throws {
            network.counts.withLock { $0.sent += 1 }
            try await connection.send(text)
        }

        func receive() async throws -> String {
            let text = try await connection.receive()
            network.counts.withLock { $0.received += 1 }
            return text
        }

        func close() { connection.close() }
    }
}

/// A token that is valid for as long as the measurement takes.
struct GivenToken: TokenProvider {
    let text: String

    func token() async throws -> String { text }
    func token(replacing refused: String) async throws -> String { throw ClientFailure.signedOut }
}
