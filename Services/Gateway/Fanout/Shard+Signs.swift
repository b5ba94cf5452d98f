import Edge
import GatewayPresence
import JSON
import Reactor
import SocketIO

/// Clients that were not told of somebody's presence or typing, as too much waits for them already.
struct ClientsBehind {
    var clients: [ObjectIdentifier: Client] = [:]
    var timer: LoopTimer?
}

// Presence and typing. They give way to what cannot be told again: a client that is behind is told how things are once it has
// read on, and of what came and went meanwhile it never hears.
extension Shard {
    /// How often it is looked at whether clients have read on.
    private static let interval: Duration = .milliseconds(100)

    /// A person came or went, or began or stopped typing.
    func deliver(_ change: Presence.Change) {
        let clients = audience.room(change.member.roomID)
        guard !clients.isEmpty else { return }
        let packet = Self.packet(change)
        for client in clients where change.kind == .presence || client.caller.id != change.member.userID {
            // It believes the opposite of what it is owed: this is what it believes.
            if client.owed.removeValue(forKey: change.entry) != nil { continue }
            if !client.socket.send(packet, droppable: true) { owe(change, to: client) }
        }
    }

    private func owe(_ change: Presence.Change, to client: Client) {
        client.owed[change.entry] = change
        behind.clients[ObjectIdentifier(client)] = client
        guard behind.timer == nil else { return }
        behind.timer = loop.schedule(after: Self.interval) { [weak self] in
            self?.assumeIsolated { $0.tellClientsBehind() }
        }
    }

    private func tellClientsBehind() {
        let clients = behind.clients.values
        behind = ClientsBehind()
        for client in clients where client.isConnected {
            for (subject, change) in client.owed {
                client.owed[subject] = nil
                // Of a room that it has left it is told nothing.
                guard client.rooms.contains(change.member.roomID) else { continue }
                guard client.socket.send(Self.packet(change), droppable: true) else {
                    owe(change, to: client)
                    break
                }
            }
        }
    }

    private static func packet(_ change: Presence.Change) -> OutgoingPacket {
        let (event, flag) =
            change.kind == .presence ? ("room:presence", "isPresent") : ("message:typing", "isTyping")
        let data = JSONWriter.object {
            $0.member("roomId", change.member.roomID)
            $0.member("userId", change.member.userID)
            $0.member(flag, change.isOn)
        }
        return .event(event, [data])
    }
}
