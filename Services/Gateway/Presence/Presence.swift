import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit

/// Who has which room open and who is typing, over all gateways. It lives on one loop of each gateway.
///
/// Each gateway answers for its own sockets and tells the others what changes. One that was silent for `lease` is dead, and
/// what it held is let go of. Services that declare a presence subject are told before anyone else is, so that they count
/// right from then on.
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
    /// How long a service may take to be told. One that is away learns it when it is back.
    static let tellTimeout: Duration = .seconds(1)

    private nonisolated let loop: EventLoop
    private let gatewayID: String
    let bus: any MessageBus
    let log: Logger
    private let announce: @Sendable (Change) -> Void
    private var subjects: [String] = []
    var open: Holdings
    private var typing: Holdings
    private var typingTimers: [Place: [String: LoopTimer]] = [:]
    private var lastHeard: [String: LoopInstant] = [:]
    /// The last of what is being told of a place: the next waits for it.
    private var telling: [Place: (id: Int, task: Task<Void, Never>)] = [:]
    private var lastTelling = 0
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
        await apply(open.add(socketID, at: place), .presence, place, isOn: true)
    }

    /// A socket left a room: it stops typing there, too. Returns when the services know.
    func leave(_ place: Place, socketID: String) async {
        stopTyping(place, socketID: socketID)
        await apply(open.remove(socketID, at: place), .presence, place, isOn: false)
    }

    /// A socket is gone.
    func disconnect(socketID: String) async {
        for place in typing.places(ofSocket: socketID) { stopTyping(place, socketID: socketID) }
        for place in open.places(ofSocket: socketID) { await leave(place, socketID: socketID) }
    }

    func setTyping(_ isTyping: Bool, _ place: Place, socketID: String) {
        guard isTyping else { return stopTyping(place, socketID: socketID) }
        typingTimers[place]?[socketID]?.cancel()
        typingTimers[place, default: [:]][socketID] = loop.schedule(after: Self.typingTimeout) { [weak self] in
            self?.assumeIsolated { $0.stopTyping(place, socketID: socketID) }
        }
        tell(typing.add(socketID, at: place), .typing, place, isOn: true)
    }

    private func stopTyping(_ place: Place, socketID: String) {
        typingTimers[place]?.removeValue(forKey: socketID)?.cancel()
        if typingTimers[place]?.isEmpty == true { typingTimers[place] = nil }
        tell(typing.remove(socketID, at: place), .typing, place, isOn: false)
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

    private func tell(_ step: Holdings.Step, _ kind: Kind, _ place: Place, isOn: Bool) {
        if step.here { publish("gateways.\(kind.rawValue)") { Self.write(place, isOn: isOn, to: &$0) } }
        if step.anywhere { announce(Change(kind: kind, place: place, isOn: isOn)) }
    }

    /// Tells the services, then everyone else; one change of a place after the other.
    private func apply(_ step: Holdings.Step, _ kind: Kind, _ place: Place, isOn: Bool) async {
        guard step.here else {
            await telling[place]?.task.value
            return
        }
        let earlier = telling[place]?.task
        lastTelling += 1
        let id = lastTelling
        let task = Task {
            await earlier?.value
            await tellServices([place], isOn: isOn)
            tell(step, kind, place, isOn: isOn)
            if telling[place]?.id == id { telling[place] = nil }
        }
        telling[place] = (id, task)
        await task.value
    }

    private func tellServices(_ places: [Place], isOn: Bool) async {
        for subject in subjects { await tellService(subject, places, isOn: isOn) }
    }

    private func tellService(_ subject: String, _ places: [Place], isOn: Bool) async {
        let data = JSONWriter.object {
            $0.member("gateway", gatewayID)
            $0.member("isOpen", isOn)
            $0.member("rooms", array: { for place in places { $0.object { Self.write(place, to: &$0) } } })
        }
        let context = BusContext(
            requestID: "presence", timeout: Self.tellTimeout, key: places.count == 1 ? places[0].roomID : nil)
        do throws(BusError) {
            _ = try await bus.request(subject, data, context)
        } catch {
            log.warning("a service was not told who has a room open", ["subject": subject, "error": "\(error)"])
        }
    }

    /// A service has announced itself: it is told all that is open here, as it may have forgotten.
    func learn(_ manifest: Manifest, subjects: [String]) {
        self.subjects = subjects
        guard let subject = manifest.presenceSubject else { return }
        // What is being told right now is told to this service as well, by whoever tells it.
        let places = Array(open.placesHere.filter { telling[$0] == nil })
        /// Far below the bus' longest line.
        let batch = 2000
        Task {
            for start in stride(from: 0, to: places.count, by: batch) {
                let part = Array(places[start..<min(start + batch, places.count)])
                await tellService(subject, part, isOn: true)
                // One that was closed meanwhile may have been told before this was heard.
                let closed = part.filter { !open.placesHere.contains($0) }
                if !closed.isEmpty { await tellService(subject, closed, isOn: false) }
            }
        }
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

    private static func write(_ place: Place, isOn: Bool, to json: inout JSONWriter) {
        write(place, to: &json)
        json.member("isOn", isOn)
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
            for (name, places) in [("presence", open.placesHere), ("typing", typing.placesHere)] {
                $0.member(name, array: { for place in places { $0.object { Self.write(place, to: &$0) } } })
            }
        }
    }

    private func beat() {
        publish("gateways.alive") { _ in }
        for (id, heard) in lastHeard where loop.now - heard > Self.lease { forget(id) }
        heart = loop.schedule(after: Self.heartbeat) { [weak self] in self?.assumeIsolated { $0.beat() } }
    }

    private func forget(_ id: String) {
        lastHeard[id] = nil
        log.warning("a gateway is gone", ["gateway": id])
        for place in open.removeGateway(id) { announce(Change(kind: .presence, place: place, isOn: false)) }
        for place in typing.removeGateway(id) { announce(Change(kind: .typing, place: place, isOn: false)) }
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
        let isChange =
            kind == .presence
            ? open.set(isOn, at: place, byGateway: id) : typing.set(isOn, at: place, byGateway: id)
        if isChange { announce(Change(kind: kind, place: place, isOn: isOn)) }
    }

    private static func place(_ object: JSONObject) -> Place? {
        guard let roomID = object["roomId"]?.string, let userID = object["userId"]?.string else { return nil }
        return Place(roomID: roomID, userID: userID)
    }
}
