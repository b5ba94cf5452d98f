import Foundation
import ParlorClient
import ParlorJSON
import ParlorTestSupport

/// A person at a site.
struct Visitor {
    let site: Site
    let name: String
    let id: String?
    let token: String?
    let refreshToken: String?
    private let network: (http: any HTTPTransport, sockets: any SocketTransport)

    init(site: Site, name: String, id: String? = nil, token: String? = nil, refreshToken: String? = nil) {
        (self.site, self.name, self.id, self.token, self.refreshToken) = (site, name, id, token, refreshToken)
        network = site.connect()
    }

    /// An answer's whole body; null if it has none.
    ///
    /// - Parameter target: the path, and the query behind a `?`.
    @discardableResult
    func call(_ method: String, _ target: String, _ body: String? = nil) async throws -> Value {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        let query = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { field in
            let pair = field.split(separator: "=", maxSplits: 1).map(String.init)
            return URLQueryItem(name: pair[0], value: pair.count > 1 ? pair[1] : "")
        }
        let response = try await network.http.send(
            HTTPRequest(
                method, parts[0], query: query, headers: token.map { ["Authorization": "Bearer \($0)"] } ?? [:],
                body: body.map { Data($0.utf8) }))
        let answer =
            response.body.isEmpty ? .null : try JSONDecoder().decode(Value.self, from: response.body)
        try site.transcript.note("\(name): \(method) \(parts[0]) \(response.status)", answer)
        return answer
    }

    /// A socket that is connected to the main namespace.
    ///
    /// - Parameter cursor: where to catch up from.
    func phone(since cursor: String? = nil) async throws -> Phone {
        let phone = try await openPhone()
        try await phone.client.connect(token: token ?? "", since: cursor)
        return phone
    }

    /// A socket past the Engine.IO handshake.
    func openPhone() async throws -> Phone {
        let connection = try await network.sockets.connect(to: site.address)
        let phone = Phone(name, connection, site.transcript)
        try await phone.client.open()
        return phone
    }

    /// A socket that has joined the room.
    func phone(in room: String) async throws -> Phone {
        let phone = try await phone()
        try await phone.ask("room:join", #"{"roomId":"\#(room)"}"#)
        return phone
    }
}

/// A person's socket. Events wait until the journey takes them, by name, as servers may interleave different ones as they like.
final class Phone {
    private struct Texts: TextConnection {
        let connection: any SocketConnection

        func send(_ text: String) async throws { try await connection.send(text) }
        func receive() async throws -> String { try await connection.receive() }
    }

    let client: SocketIOTestClient
    private let name: String
    private let connection: any SocketConnection
    private let transcript: Transcript
    private var waiting: [(name: String, data: JSONValue)] = []
    private var lastAck = 0

    init(_ name: String, _ connection: any SocketConnection, _ transcript: Transcript) {
        (self.name, self.connection, self.transcript) = (name, connection, transcript)
        client = SocketIOTestClient(Texts(connection: connection))
    }

    /// An event's ack, noted with whether the room's echo of it came before.
    @discardableResult
    func ask(_ event: String, _ payload: String, after echo: String? = nil) async throws -> Value {
        lastAck += 1
        try await client.emit(event, payload, ack: lastAck)
        while true {
            switch try await client.next() {
            case .ack(lastAck, let answer):
                let order = echo.map { echo in waiting.contains { $0.name == echo } ? " after \(echo)" : " first" }
                return try note("asks \(event)\(order ?? "")", answer)
            case .ack(let id, _): throw WireError.unexpected("ack \(id)")
            case .event(let name, let data): waiting.append((name, data))
            case .other(let text): try await answer(text)
            }
        }
    }

    /// The next event of this name.
    @discardableResult
    func event(_ name: String) async throws -> Value {
        while true {
            if let index = waiting.firstIndex(where: { $0.name == name }) {
                return try note("receives \(name)", waiting.remove(at: index).data)
            }
            switch try await client.next() {
            case .ack(let id, _): throw WireError.unexpected("ack \(id)")
            case .event(let name, let data): waiting.append((name, data))
            case .other(let text): try await answer(text)
            }
        }
    }

    func close() { connection.close() }

    private func answer(_ text: String) async throws {
        guard text == "2" else { throw WireError.unexpected(text) }
        try await client.send("3")
    }

    private func note(_ what: String, _ value: JSONValue) throws -> Value {
        let value = try JSONDecoder().decode(Value.self, from: Data(value.text.utf8))
        try transcript.note("\(name) \(what)", value)
        return value
    }
}
