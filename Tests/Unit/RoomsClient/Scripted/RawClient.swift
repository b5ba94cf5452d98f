import Foundation
import RoomsClient
import RoomsClientTesting

/// Speaks to a scripted server in packets and requests, as the library does, but by hand.
struct RawClient {
    struct Event: Equatable {
        var name: String
        var data: JSON
    }

    struct NotExpected: Error {
        var packet: String
    }

    let device: ScriptedDevice
    let connection: any SocketConnection

    /// Connects, and is let in.
    init(_ device: ScriptedDevice, as person: Person, on server: ScriptedServer, since: String? = nil) async throws {
        self.device = device
        connection = try await device.connect(to: URL(filePath: "/socket.io/"))
        guard try await connection.receive().hasPrefix("0{") else { throw NotExpected(packet: "no handshake") }
        var payload = #"{"token":"\#(try server.makeSession(of: person).token)""#
        if let since { payload += #","since":"\#(since)""# }
        try await connection.send("40" + payload + "}")
        let answer = try await connection.receive()
        guard answer.hasPrefix("40{") else { throw NotExpected(packet: answer) }
    }

    func emit(_ event: String, _ fields: JSON, ack: Int) async throws {
        let packet = try JSONEncoder().encode(JSON.array([.string(event), fields]))
        try await connection.send("42\(ack)" + String(decoding: packet, as: UTF8.self))
    }

    func event() async throws -> Event {
        let packet = try await connection.receive()
        guard packet.hasPrefix("42"),
            case .array(let parts) = try JSONDecoder().decode(JSON.self, from: Data(packet.dropFirst(2).utf8)),
            parts.count == 2, let name = parts[0].string
        else { throw NotExpected(packet: packet) }
        return Event(name: name, data: parts[1])
    }

    func ack(_ id: Int) async throws -> JSON {
        let packet = try await connection.receive()
        guard packet.hasPrefix("43\(id)["),
            case .array(let parts) = try JSONDecoder().decode(
                JSON.self, from: Data(packet.dropFirst("43\(id)".count).utf8)), parts.count == 1
        else { throw NotExpected(packet: packet) }
        return parts[0]
    }

    /// The names of the packets until and with the end of a replay, or so many.
    func names(_ count: Int) async throws -> [String] {
        var names: [String] = []
        for _ in 0..<count {
            let packet = try await connection.receive()
            names.append(packet.hasPrefix("43") ? "ack" : String(packet.dropFirst(4).prefix { $0 != "\"" }))
        }
        return names
    }
}
