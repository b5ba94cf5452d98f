/// All connected clients of one loop, also those that are still being caught up, by their ids and by their sessions.
struct ClientTable {
    private var clients: [String: Client] = [:]
    private var sessions: [String: [Client]] = [:]

    subscript(id: String) -> Client? { clients[id] }

    func ofSession(_ id: String) -> [Client] { sessions[id] ?? [] }

    mutating func add(_ client: Client) {
        clients[client.id] = client
        if let session = client.sessionID { sessions[session, default: []].append(client) }
    }

    mutating func remove(_ client: Client) {
        clients[client.id] = nil
        guard let session = client.sessionID else { return }
        sessions[session]?.removeAll { $0 === client }
        if sessions[session]?.isEmpty == true { sessions[session] = nil }
    }
}
