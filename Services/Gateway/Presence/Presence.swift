import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit
import Synchronization

/// Who has which room open and who is typing, over all gateways. It lives on one loop of each gateway.
///
/// Each gateway answers for its own sockets and tells the others what changes. One that was silent for too many turns is
/// dead, and what it held is let go of. Services that declare a presence subject are told before anyone else is, so that they count
/// right from then on; one that could not be told is told later.
package actor Presence {
    package enum Kind: String, Sendable { case presence, typing }

    /// A person has a room open, or types in it.
    package struct Entry: Hashable, Sendable {
        package let kind: Kind
        package let member: RoomMember
    }

    /// What clients are told: a person came or went, began or stopped typing.
    package struct Change: Sendable {
        package let entry: Entry
        package let isOn: Bool

        package var kind: Kind { entry.kind }
        package var member: RoomMember { entry.member }
    }

    /// How often a gateway says that it lives: every 800 ms.
    static let turnsPerBeat = 4
    /// How long a service may take to be told.
    static let tellTimeout: Duration = .seconds(1)
    /// Places in one request: far below the bus' longest line.
    static let maxToldAtOnce = 2000
    /// Places that a service may have to be told of later. Beyond it, a service that is away so long is not told that
    /// somebody left: the lease of this gateway ends that when the gateway does.
    static let maxUntold = 100_000

    package nonisolated let loop: EventLoop
    /// Counts what changes who has which room open, before anybody is told; from any thread.
    package nonisolated let changes = Atomic(0)
    /// Without a renewal, typing ends after this.
    let typingTimeout: Duration
    let gatewayID: String
    let bus: any MessageBus
    let log: Logger
    let announce: @Sendable (Change) -> Void
    /// The services that want to know who has a room open, and the subject to tell each at.
    var subjects: [String: String] = [:]
    var open: Holdings { didSet { changes.add(1, ordering: .releasing) } }
    var typing: Holdings
    var typingTimers: [RoomMember: [String: LoopTimer]] = [:]
    var peers = GatewayPeers()
    /// Counts what other gateways are told of the places here.
    var lastNumber = 0
    var snapshot: OutgoingSnapshot?
    var partTimer: LoopTimer?
    var turn = 0
    var lastBeat = LoopInstant.now()
    /// The places that services and other gateways know to be open here.
    var told: Set<RoomMember> = []
    var telling: [RoomMember: Task<Void, Never>] = [:]
    /// By subject: the places of which the service may not know what they are now.
    var untold: [String: Set<RoomMember>] = [:]
    var retelling: Set<String> = []
    var subscriptions: [BusSubscription] = []
    var heart: LoopTimer?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter announce: called on the loop, in the order of the changes of a place.
    package init(
        gatewayID: String, bus: any MessageBus, on loop: EventLoop, log: Logger, typingTimeout: Duration = .seconds(3),
        announce: @escaping @Sendable (Change) -> Void
    ) {
        self.gatewayID = gatewayID
        self.bus = bus
        self.loop = loop
        self.log = log
        self.typingTimeout = typingTimeout
        self.announce = announce
        open = Holdings(gatewayID: gatewayID)
        typing = Holdings(gatewayID: gatewayID)
    }

    // MARK: What sockets do

    /// A socket joined a room. Returns when the services know.
    package func join(_ place: RoomMember, socketID: String) async {
        open.add(socketID, at: place)
        await settle(place)?.value
    }

    /// A socket left a room: it stops typing there, too. Returns when the services know.
    package func leave(_ place: RoomMember, socketID: String) async {
        stopTyping(place, socketID: socketID)
        open.remove(socketID, at: place)
        await settle(place)?.value
    }

    /// A socket is gone.
    package func disconnect(socketID: String) {
        for place in typing.places(ofSocket: socketID) { stopTyping(place, socketID: socketID) }
        for place in open.places(ofSocket: socketID) {
            open.remove(socketID, at: place)
            _ = settle(place)
        }
    }

    package func setTyping(_ isTyping: Bool, _ place: RoomMember, socketID: String) {
        guard isTyping else { return stopTyping(place, socketID: socketID) }
        typingTimers[place]?[socketID]?.cancel()
        typingTimers[place, default: [:]][socketID] = loop.schedule(after: typingTimeout) { [weak self] in
            self?.assumeIsolated { $0.stopTyping(place, socketID: socketID) }
        }
        if typing.add(socketID, at: place) { tell(.typing, place, isOn: true) }
    }

    private func stopTyping(_ place: RoomMember, socketID: String) {
        typingTimers[place]?.removeValue(forKey: socketID)?.cancel()
        if typingTimers[place]?.isEmpty == true { typingTimers[place] = nil }
        if typing.remove(socketID, at: place) { tell(.typing, place, isOn: false) }
    }

    /// What was typed has been sent: every gateway sees that in the log, and ends the typing of its own sockets.
    package func endTyping(_ place: RoomMember) {
        for socketID in typing.sockets(holding: place) { stopTyping(place, socketID: socketID) }
    }

    /// Who has these rooms open now.
    package func present(in roomIDs: [String]) -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        for id in roomIDs {
            let people = open.userIDs(in: id)
            if !people.isEmpty { found[id] = Set(people) }
        }
        return found
    }

    // MARK: Clients

    func announceChange(_ kind: Kind, _ place: RoomMember) {
        let news = kind == .presence ? open.takeNews(of: place) : typing.takeNews(of: place)
        if let news { announce(Change(entry: Entry(kind: kind, member: place), isOn: news)) }
    }
}
