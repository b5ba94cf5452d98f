import Foundation
import ParlorClient
import ParlorClientTesting

/// A client that exchanges packets with a scripted server, without the library.
struct ScriptedClient {
    struct Event: Equatable {
        var name: String
        var data: JSON
    }

    struct NotExpected: Error {
        var packet: String
    }

    private enum Packet {
        case event(String, JSON)
        case ack(Int, JSON)
        case other(String)
    }

    let connection: any SocketConnection

    /// Connects, and joins the namespace.
    init(_ device: ScriptedDevice, as person: Person, on server: ScriptedServer, since: String? = nil) async throws {
        connection = try await device.connect(to: URL(filePath: "/socket.io/"))
        try Self.check(try await connection.receive(), begins: "0{")
        var auth: [String: JSON] = ["token": .string(try server.makeSession(of: person).token)]
        auth["since"] = since.map(JSON.string)
        try await connection.send("40" + (try Self.text(.object(auth))))
        try Self.check(try await connection.receive(), begins: "40{")
    }

    func emit(_ event: String, _ fields: JSON, ack: Int) async throws {
        try await connection.send("42\(ack)" + (try Self.text(.array([.string(event), fields]))))
    }

    private func next() async throws -> Packet {
        let text = try await connection.receive()
        guard text.hasPrefix("42") || text.hasPrefix("43") else { return .other(text) }
        let digits = text.dropFirst(2).prefix { $0.isNumber }
        guard case .array(let arguments) = try Self.json(String(text.dropFirst(2 + digits.count))) else {
            return .other(text)
        }
        if let id = Int(digits) { return .ack(id, arguments[0]) }
        return .event(arguments[0].string ?? "", arguments[1])
    }

    func event() async throws -> Event {
        let packet = try await next()
        guard case .event(let name, let data) = packet else { throw NotExpected(packet: "\(packet)") }
        return Event(name: name, data: data)
    }

    func ack(_ id: Int) async throws -> JSON {
        let packet = try await next()
        guard case .ack(id, let answer) = packet else { throw NotExpected(packet: "\(packet)") }
        return answer
    }

    /// Returns the names of the next packets; `ack` stands for an ack.
    func names(_ count: Int) async throws -> [String] {
        var names: [String] = []
        while names.count < count {
            let packet = try await next()
            if case .event(let name, _) = packet { names.append(name) } else { names.append("ack") }
        }
        return names
    }

    private static func check(_ text: String, begins start: String) throws {
        guard text.hasPrefix(start) else { throw NotExpected(packet: text) }
    }

    private static func text(_ value: JSON) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    private static func json(_ text: String) throws -> JSON {
        try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }
}
