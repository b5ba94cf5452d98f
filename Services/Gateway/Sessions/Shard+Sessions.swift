import Contracts
import HTTP
import JSON
import Reactor

// Who is connected, and who has to go: with the session, or for a newer socket of the same person.
extension Shard {
    func register(_ client: Client) {
        clients.add(client)
        let place = PersonSockets.Place(shard: self, clientID: client.id)
        guard let oldest = context.personSockets.add(place, of: client.caller.id) else { return }
        context.log.debug("a person has too many sockets: the oldest ends", ["user": client.caller.id])
        // Later, also on this loop: this one is not connected yet.
        let (shard, id) = (oldest.shard, oldest.clientID)
        shard.loop.execute { shard.assumeIsolated { $0.replace(id) } }
    }

    func unregister(_ client: Client) {
        clients.remove(client)
        context.personSockets.remove(client.id, of: client.caller.id)
    }

    /// By DISCONNECT: a client that came back by itself would replace the next.
    private func replace(_ id: String) {
        guard let client = clients[id] else { return }
        context.measured.replacedSockets.add()
        let limit = context.settings.maxSocketsPerPerson
        Self.report(
            ServiceError(.rateLimited, "You have more than \(limit) connections: the oldest ends."), of: "connect",
            to: client.socket)
        client.socket.disconnect()
    }

    /// What these sessions' sockets have sent, and is not begun, is not done.
    func endSessions(_ ids: [String]) {
        for id in ids {
            for client in clients.ofSession(id) {
                context.measured.endedSockets.add()
                client.waiting = WaitingEvents()
                client.socket.disconnect()
            }
        }
    }

    /// The request's data with who is at the other end, whatever it had in that place.
    func describe(
        _ address: IPAddress, with request: HTTPRequest, _ claims: AccessClaims?, in data: JSONValue
    ) -> JSONValue {
        let agent = request.headers["User-Agent"] ?? ""
        let client = ClientInfo(
            address: address.description,
            userAgent: String(decoding: agent.utf8.prefix(ClientInfo.maxUserAgent), as: UTF8.self),
            sessionID: claims?.sessionID, isLimited: context.settings.isLimiting)
        return JSONWriter.object(reservingCapacity: data.bytes.count + 512) {
            $0.members(of: data)
            $0.member(ClientInfo.member, client.json)
        }
    }
}

extension Fanout {
    /// These sessions' sockets end, on every loop. Their tokens are refused by now: nobody comes in behind it.
    func endSessions(_ ids: [String]) {
        for shard in shards { shard.loop.execute { shard.assumeIsolated { $0.endSessions(ids) } } }
    }
}
