import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit

/// Who has which room open and who is typing, over all gateways. It lives on one loop of each gateway.
///
/// Each gateway answers for its own sockets and tells the others what changes. One that was silent for `lease` is dead, and
/// what it held is let go of. Services that declare a presence subject are told before anyone else is, so that they count
/// right from then on; one that could not be told is told later.
actor Presence {
    typealias Place = HolderTable.Place

    enum Kind: String, Sendable { case presence, typing }

    /// What clients are told: a person came or went, began or stopped typing.
    struct Change: Sendable {
        let kind: Kind
        let place: Place
        let isOn: Bool
    }

    /// Without a renewal, typing ends after this.
    static let typingTimeout: Duration = .seconds(3)
    static let heartbeat: Duration = .milliseconds(800)
    /// Between two and three heartbeats: what a dead gateway held is gone within 3 s of its last word.
    static let lease: Duration = .milliseconds(2100)
    /// How long a service may take to be told.
    static let tellTimeout: Duration = .seconds(1)
    /// Places in one request: far below the bus' longest line.
    static let maxToldAtOnce = 2000
    /// Places that a service may have to be told of later. Beyond it, a service that is away so long is not told that
    /// somebody left: the lease of this gateway ends that when the gateway does.
    static let maxUntold = 100_000

    private nonisolated let loop: EventLoop
    private let gatewayID: String
    private let bus: any MessageBus
    private let log: Logger
    private let announce: @Sendable (Change) -> Void
    /// The services that want to know who has a room open, and the subject to tell each at.
    private var subjects: [String: String] = [:]
    private var open: Holdings
    private var typing: Holdings
    private var typingTimers: [Place: [String: LoopTimer]] = [:]
    private var lastHeard: [String: LoopInstant] = [:]
    private var lastBeat = LoopInstant.now()
    /// The places that services and other gateways know to be open here.
    private var told: Set<Place> = []
    private var telling: [Place: Task<Void, Never>] = [:]
    /// By subject: the places of which the service may not know what they are now.
    private var untold: [String: Set<Place>] = [:]
    private var retelling: Set<String> = []
    private var subscriptions: [BusSubscription] = []
    private var heart: LoopTimer?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter announce: called on the loop, in the order of the changes of a place.
    init(
        gatewayID: String, bus: any MessageBus, on loop: EventLoop, log: Logger,
        announce: @escaping @Sendable (Change) -> Void
    ) {
        self.gatewayID = gatewayID
        self.bus = bus
        self.loop = loop
        self.log = log
        self.announce = announce
        open = Holdings(gatewayID: gatewayID)
        typing = Holdings(gatewayID: gatewayID)
    }

    // MARK: What sockets do

    /// A socket joined a room. Returns when the services know.
    func join(_ place: Place, socketID: String) async {
        open.add(socketID, at: place)
        await settle(place)?.value
    }

    /// A socket left a room: it stops typing there, too. Returns when the services know.
    func leave(_ place: Place, socketID: String) async {
        stopTyping(place, socketID: socketID)
        open.remove(socketID, at: place)
        await settle(place)?.value
    }

    /// A socket is gone.
    func disconnect(socketID: String) {
        for place in typing.places(ofSocket: socketID) { stopTyping(place, socketID: socketID) }
        for place in open.places(ofSocket: socketID) {
            open.remove(socketID, at: place)
            _ = settle(place)
        }
    }

    func setTyping(_ isTyping: Bool, _ place: Place, socketID: String) {
        guard isTyping else { return stopTyping(place, socketID: socketID) }
        typingTimers[place]?[socketID]?.cancel()
        typingTimers[place, default: [:]][socketID] = loop.schedule(after: Self.typingTimeout) { [weak self] in
            self?.assumeIsolated { $0.stopTyping(place, socketID: socketID) }
        }
        if typing.add(socketID, at: place) { tell(.typing, place, isOn: true) }
    }

    private func stopTyping(_ place: Place, socketID: String) {
        typingTimers[place]?.removeValue(forKey: socketID)?.cancel()
        if typingTimers[place]?.isEmpty == true { typingTimers[place] = nil }
        if typing.remove(socketID, at: place) { tell(.typing, place, isOn: false) }
    }

    /// What was typed has been sent: every gateway sees that in the log, and ends the typing of its own sockets.
    func endTyping(_ place: Place) {
        for socketID in typing.sockets(holding: place) { stopTyping(place, socketID: socketID) }
    }

    /// Who has these rooms open now.
    func present(in roomIDs: [String]) -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        for id in roomIDs {
            let people = open.userIDs(in: id)
            if !people.isEmpty { found[id] = Set(people) }
        }
        return found
    }

    // MARK: Telling

    /// Tells the services what a place has become, then everyone else. What changes meanwhile is told next, so that the last
    /// that anyone hears is how it is.
    ///
    /// - Returns: what ends when all is told; nil if it is already.
    private func settle(_ place: Place) -> Task<Void, Never>? {
        if let task = telling[place] { return task }
        guard open.isHeldHere(place) != told.contains(place) else { return nil }
        let task = Task {
            while case let isOpen = open.isHeldHere(place), isOpen != told.contains(place) {
                for subject in subjects.values { await tellService(subject, place, isOpen: isOpen) }
                if isOpen { told.insert(place) } else { told.remove(place) }
                tell(.presence, place, isOn: isOpen)
            }
            telling[place] = nil
        }
        telling[place] = task
        return task
    }

    /// Tells the other gateways what changed here, and clients if that makes a difference.
    private func tell(_ kind: Kind, _ place: Place, isOn: Bool) {
        publish("gateways.\(kind.rawValue)") {
            Self.write(place, to: &$0)
            $0.member("isOn", isOn)
        }
        announceChange(kind, place)
    }

    private func announceChange(_ kind: Kind, _ place: Place) {
        let news = kind == .presence ? open.takeNews(of: place) : typing.takeNews(of: place)
        if let news { announce(Change(kind: kind, place: place, isOn: news)) }
    }

    private func publish(_ subject: String, _ write: (inout JSONWriter) -> Void) {
        let data = JSONWriter.object {
            $0.member("gateway", gatewayID)
            write(&$0)
        }
        do throws(BusError) {
            try bus.publish(subject, data)
        } catch {
            log.warning("other gateways were not told", ["subject": subject, "error": "\(error)"])
        }
    }

    private static func write(_ place: Place, to json: inout JSONWriter) {
        json.member("roomId", place.roomID)
        json.member("userId", place.userID)
    }
}

// MARK: - Services

extension Presence {
    /// A service has announced itself: it is told all that is open here, as it may have forgotten.
    nonisolated func learn(_ manifest: Manifest) {
        loop.execute { self.assumeIsolated { $0.note(manifest) } }
    }

    private func note(_ manifest: Manifest) {
        subjects[manifest.service] = manifest.presenceSubject
        guard let subject = manifest.presenceSubject else { return }
        // Also what is being told now: whoever tells it did not know of this service.
        untold[subject, default: []].formUnion(told.union(open.placesHere))
        retell(subject)
    }

    private func tellService(_ subject: String, _ place: Place, isOpen: Bool) async {
        guard await ask(subject, [place], isOpen: isOpen) else {
            if untold[subject, default: []].isEmpty {
                log.warning("a service is to be told later who has a room open", ["subject": subject])
            }
            if isOpen || untold[subject, default: []].count < Self.maxUntold {
                untold[subject, default: []].insert(place)
            }
            return
        }
        untold[subject]?.remove(place)
    }

    /// Tells a service what it may not know, until it knows all or does not answer.
    private func retell(_ subject: String) {
        guard untold[subject]?.isEmpty == false, retelling.insert(subject).inserted else { return }
        Task {
            while let batch = nextUntold(subject) {
                guard await ask(subject, batch.places, isOpen: batch.isOpen) else { break }
                // What has changed meanwhile was perhaps told before this.
                untold[subject]?.subtract(batch.places.filter { open.isHeldHere($0) == batch.isOpen })
            }
            retelling.remove(subject)
        }
    }

    private func nextUntold(_ subject: String) -> (places: [Place], isOpen: Bool)? {
        guard let places = untold[subject], let first = places.first else { return nil }
        let isOpen = open.isHeldHere(first)
        return (Array(places.lazy.filter { self.open.isHeldHere($0) == isOpen }.prefix(Self.maxToldAtOnce)), isOpen)
    }

    /// - Returns: whether the service has taken it in.
    private func ask(_ subject: String, _ places: [Place], isOpen: Bool) async -> Bool {
        let data = JSONWriter.object {
            $0.member("gateway", gatewayID)
            $0.member("isOpen", isOpen)
            $0.member("rooms", array: { for place in places { $0.object { Self.write(place, to: &$0) } } })
        }
        let context = BusContext(
            requestID: "presence", timeout: Self.tellTimeout, key: places.count == 1 ? places[0].roomID : nil)
        do {
            _ = try Reply(try await bus.request(subject, data, context))
            return true
        } catch {
            log.debug("a service was not told who has a room open", ["subject": subject, "error": "\(error)"])
            return false
        }
    }
}

// MARK: - Other gateways

extension Presence {
    nonisolated func start() throws(BusError) {
        var made: [BusSubscription] = []
        for subject in ["presence", "typing", "alive", "hello", "snapshot"] {
            made.append(
                try bus.subscribe("gateways.\(subject)") { [weak self] message in
                    guard let self else { return }
                    loop.execute { self.assumeIsolated { $0.hear(subject, message.data) } }
                })
        }
        made.append(
            bus.onStateChange { [weak self] state in
                guard let self, state == .connected else { return }
                loop.execute { self.assumeIsolated { $0.greet() } }
            })
        let subscriptions = made
        loop.execute {
            self.assumeIsolated { presence in
                presence.subscriptions = subscriptions
                presence.greet()
                presence.beat()
            }
        }
    }

    func stop() {
        heart?.cancel()
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
    }

    /// Says who is here, and asks the others for the same.
    private func greet() {
        publish("gateways.hello") { _ in }
        publishSnapshot()
    }

    private func publishSnapshot() {
        publish("gateways.snapshot") {
            // What is open here is for others to know once the services do.
            for (name, places) in [("presence", told), ("typing", typing.placesHere)] {
                $0.member(name, array: { for place in places { $0.object { Self.write(place, to: &$0) } } })
            }
        }
    }

    private func beat() {
        if loop.now - lastBeat > Self.lease {
            // This process was stopped for so long that others have given it up.
            greet()
            for subject in subjects.values { untold[subject, default: []].formUnion(told) }
        }
        lastBeat = loop.now
        publish("gateways.alive") { _ in }
        for (id, heard) in lastHeard where loop.now - heard > Self.lease { forget(id) }
        for subject in subjects.values { retell(subject) }
        heart = loop.schedule(after: Self.heartbeat) { [weak self] in self?.assumeIsolated { $0.beat() } }
    }

    private func forget(_ id: String) {
        lastHeard[id] = nil
        log.warning("a gateway is gone", ["gateway": id])
        for place in open.removeGateway(id) { announceChange(.presence, place) }
        for place in typing.removeGateway(id) { announceChange(.typing, place) }
    }

    private func hear(_ subject: String, _ data: JSONValue) {
        guard let object = data.object, let id = object["gateway"]?.string, id != gatewayID else { return }
        if lastHeard.updateValue(loop.now, forKey: id) == nil, subject != "hello", subject != "snapshot" {
            publish("gateways.hello") { _ in }
        }
        switch subject {
        case "hello": publishSnapshot()
        case "snapshot":
            take(object["presence"], .presence, from: id)
            take(object["typing"], .typing, from: id)
        case "presence", "typing":
            guard let kind = Kind(rawValue: subject), let place = Self.place(object), let isOn = object["isOn"]?.bool
            else { return }
            set(isOn, kind, place, from: id)
        default: break
        }
    }

    private func take(_ list: JSONValue?, _ kind: Kind, from id: String) {
        let told = Set(list?.array?.compactMap { $0.object.flatMap(Self.place) } ?? [])
        let known = kind == .presence ? open.places(ofGateway: id) : typing.places(ofGateway: id)
        for place in known.subtracting(told) { set(false, kind, place, from: id) }
        for place in told.subtracting(known) { set(true, kind, place, from: id) }
    }

    private func set(_ isOn: Bool, _ kind: Kind, _ place: Place, from id: String) {
        switch kind {
        case .presence: open.set(isOn, at: place, byGateway: id)
        case .typing: typing.set(isOn, at: place, byGateway: id)
        }
        announceChange(kind, place)
    }

    private static func place(_ object: JSONObject) -> Place? {
        guard let roomID = object["roomId"]?.string, let userID = object["userId"]?.string else { return nil }
        return Place(roomID: roomID, userID: userID)
    }
}
