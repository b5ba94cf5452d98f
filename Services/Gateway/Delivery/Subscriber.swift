import ParlorContracts
import ParlorEdge
import ParlorGatewayPresence
import ParlorReactor
import ParlorSocketIO

/// A connected socket in the fan-out. It stays on its loop: other code holds it as a `Handle`.
package final class Subscriber {
    package typealias Handle = LoopBound<Subscriber>

    /// The socket's id in this process, as presence knows it.
    let id: String
    let socket: Socket
    package let caller: Caller
    /// The rooms it has joined, each with the version of the record that admitted it.
    package internal(set) var rooms: [String: Int] = [:]
    /// False once the client has left; nothing is sent to it any more.
    package var isConnected = true
    package var liveness: ClientLiveness

    /// The position up to which each log had been fanned out when the socket became live.
    var seen: [LogID: Int] = [:]
    /// The logs that were not followed yet when the socket became live.
    var unfollowed: Set<LogID> = []
    /// Where it continues with each room; nil if it sent no cursor.
    var continuations: RoomContinuations?
    /// The latest changes of presence and typing in its rooms that were not sent, because its client reads too slowly.
    /// A pending typing change is always the opposite of the state that the client knows.
    var pendingChanges: [Presence.Entry: Presence.Change] = [:]
    /// Its index in the audience, so that removal takes constant time; nil while it is not in the audience.
    var everyoneIndex: Int?

    package init(_ socket: Socket, id: String, caller: Caller) {
        self.id = id
        self.socket = socket
        self.caller = caller
        liveness = ClientLiveness(at: .now())
    }

    package func hasJoined(_ roomID: String) -> Bool { rooms[roomID] != nil }
}
