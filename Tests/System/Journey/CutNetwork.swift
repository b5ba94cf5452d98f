import Foundation
import ParlorClient
import ParlorLinuxWebSocket

/// A device's real network with a switch: while it is off, connections die at once, and no request
/// gets an answer, though the server may receive it.
actor CutNetwork: HTTPTransport, SocketTransport {
    private let http: URLSessionTransport
    private let sockets = WebSocketTransport()
    private var isOn = true
    private var connections: [any SocketConnection] = []

    init(to server: URL) { http = URLSessionTransport(base: server) }

    func switchOn() { isOn = true }

    func switchOff() {
        isOn = false
        for connection in connections { connection.close() }
        connections = []
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard isOn else { throw ClientFailure.offline("no network") }
        let response = try await http.send(request)
        guard isOn else { throw ClientFailure.offline("cut off before the answer") }
        return response
    }

    func connect(to url: URL) async throws -> any SocketConnection {
        guard isOn else { throw ClientFailure.offline("no network") }
        let connection = try await sockets.connect(to: url)
        guard isOn else {
            connection.close()
            throw ClientFailure.offline("no network")
        }
        connections.append(connection)
        return connection
    }
}
