import Contracts
import Edge
import GatewayPresence
import Reactor
import SocketIO

/// A person's connected socket, as its shard knows it. It stays on the shard's loop.
final class Client {
    let socket: Socket
    /// Names it to the presence of this process; says nothing to anyone else.
    let id: String
    let caller: Caller
    /// The session of its token, and when it ends, it ends; nil for a token that names none.
    let sessionID: String?
    let address: IPAddress
    /// The rooms it has joined.
    var rooms: Set<String> = []
    /// Up to where each stream had been fanned out when it became live.
    var seen: [String: Int] = [:]
    /// Where it was caught up to, if it came with a cursor; and for the rooms that it has left again, where that was.
    var continuesFrom: SyncCursor?
    var continuedRooms: [String: SyncCursor] = [:]
    /// Logs that were not followed yet when it became live.
    var unfollowed: Set<String> = []
    /// Presence and typing that it was not told of, as it was behind: each the opposite of what it believes.
    var owed: [Presence.Entry: Presence.Change] = [:]
    /// Its places in the shard's lists, so that it leaves them at once.
    var everyoneIndex: Int?
    var expiry: LoopTimer?
    var isConnected = true
    var life: SignsOfLife

    /// Events that wait: to be caught up, for a join or leave to be done, or for a free place under way. Their time runs.
    var waiting = WaitingEvents()
    /// Whether a join, leave or typing is being done: what comes after it waits.
    var isChangingRooms = false
    var underWay = 0

    /// Requests of one socket that services work on at a time. One, where several on their way could overtake each other.
    private let maxUnderWay: Int

    init(
        _ socket: Socket, id: String, caller: Caller, sessionID: String? = nil, address: IPAddress, keepsOrder: Bool
    ) {
        maxUnderWay = keepsOrder ? 128 : 1
        self.socket = socket
        self.id = id
        self.caller = caller
        self.sessionID = sessionID
        self.address = address
        life = SignsOfLife(at: .now())
    }

    /// A join waits for what is under way: the echo of what was sent before it would come after its ack otherwise.
    func mayStart(_ event: SocketIOEvent) -> Bool {
        !isChangingRooms && underWay < (event.name == "room:join" ? 1 : maxUnderWay)
    }
}
