import Foundation
import RoomsClient
import RoomsClientTesting
import TestSupport

/// Speaks to a scripted server in packets, as the library does, but by hand.
struct ScriptedClient {
    struct Event: Equatable {
        var name: String
        var data: JSON
    }

    struct NotExpected: Error {
        var packet: String
    }

    private struct Texts: TextConnection {
        let connection: any SocketConnection

        func send(_ text: String) async throws { try await connection.send(text) }
        func receive() async throws -> String { try await connection.receive() }
    }

    let connection: any SocketConnection
    private let client: SocketIOTestClient

    /// Connects, and is let in.
    init(_ device: ScriptedDevice, as person: Person, on server: ScriptedServer, since: String? = nil) async throws {
        connection = try await device.connect(to: URL(filePath: "/socket.io/"))
        client = SocketIOTestClient(Texts(connection: connection))
        try await client.open()
        try await client.connect(token: server.makeSession(of: person).token, since: since)
    }

    func emit(_ event: String, _ fields: JSON, ack: Int) async throws {
        try await client.emit(event, String(decoding: JSONEncoder().encode(fields), as: UTF8.self), ack: ack)
    }

    func event() async throws -> Event {
        let packet = try await client.next()
        guard case .event(let name, let data) = packet else { throw NotExpected(packet: "\(packet)") }
        return Event(name: name, data: try Self.json(data.text))
    }

    func ack(_ id: Int) async throws -> JSON {
        let packet = try await client.next()
        guard case .ack(id, let answer) = packet else { throw NotExpected(packet: "\(packet)") }
        return try Self.json(answer.text)
    }

    /// The names of the next packets, so many; an ack's is `ack`.
    func names(_ count: Int) async throws -> [String] {
        var names: [String] = []
        while names.count < count {
            let packet = try await client.next()
            if case .event(let name, _) = packet { names.append(name) } else { names.append("ack") }
        }
        return names
    }

    private static func json(_ text: String) throws -> JSON {
        try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }
}
