import Contracts
import Edge
import GatewayPresence
import Reactor
import SocketIO

/// A connected socket as the fan-out knows it. It stays on its loop: others carry it as a `Handle`.
package final class Subscriber {
    package typealias Handle = LoopBound<Subscriber>

    let socket: Socket
    package let caller: Caller
    /// The rooms it has joined.
    package internal(set) var rooms: Set<String> = []
    /// False once the client has left; nothing is sent to it any more.
    package var isConnected = true
    package var liveness: ClientLiveness

    /// Up to where each stream had been fanned out when it became live.
    var seen: [String: Int] = [:]
    /// Logs that were not followed yet when it became live.
    var unfollowed: Set<String> = []
    /// The state up to which it was caught up, if it sent a cursor. For rooms that it has left
    /// again, the state at that time.
    var continuesFrom: SyncCursor?
    var continuedRooms: [String: SyncCursor] = [:]
    /// Presence and typing that it was not sent, as it was behind: each the opposite of what it believes.
    var pendingChanges: [Presence.Entry: Presence.Change] = [:]
    /// Its index in the audience, so that it leaves it at once; nil while it is not in it.
    var everyoneIndex: Int?

    package init(_ socket: Socket, caller: Caller) {
        self.socket = socket
        self.caller = caller
        liveness = ClientLiveness(at: .now())
    }
}
