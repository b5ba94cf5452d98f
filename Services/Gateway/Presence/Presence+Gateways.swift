import JSON
import MessageBus
import Reactor

// What gateways tell each other: each change as it happens, and all of it part by part to those who ask.
extension Presence {
    package nonisolated func start() throws(BusError) {
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
                presence.takeTurns()
            }
        }
    }

    package func stop() {
        heart?.cancel()
        partTimer?.cancel()
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
    }

    // MARK: Living and dying

    private func takeTurns() {
        heart = loop.schedule(after: GatewayPeers.turn) { [weak self] in
            self?.assumeIsolated { presence in
                presence.turn += 1
                for id in presence.peers.countTurn() { presence.forget(id) }
                if presence.turn.isMultiple(of: Self.turnsPerBeat) { presence.beat() }
                presence.takeTurns()
            }
        }
    }

    private func beat() {
        if loop.now - lastBeat > GatewayPeers.turn * GatewayPeers.maxSilentTurns {
            // This process was held up for so long that services have given it up. Gateways that have ask by themselves.
            for subject in subjects.values { untold[subject, default: []].formUnion(told) }
        }
        lastBeat = loop.now
        publish("gateways.alive") { $0.member("number", lastNumber) }
        for id in peers.takeUnknown() { ask(id) }
        for subject in subjects.values { retell(subject) }
    }

    private func forget(_ id: String) {
        log.warning("a gateway is gone", ["gateway": id])
        for place in open.removeGateway(id) { announceChange(.presence, place) }
        for place in typing.removeGateway(id) { announceChange(.typing, place) }
    }

    // MARK: Saying

    /// Tells the other gateways what changed here, and clients if that makes a difference.
    func tell(_ kind: Kind, _ place: RoomMember, isOn: Bool) {
        publishNumbered("gateways.\(kind.rawValue)") {
            Self.write(place, to: &$0)
            $0.member("isOn", isOn)
        }
        announceChange(kind, place)
    }

    /// Says who is here, and asks the others for the same.
    private func greet() {
        publish("gateways.hello") { _ in }
        sendSnapshot()
    }

    /// Asks one that was heard of, or that was not understood to the end, for all that it holds.
    private func ask(_ id: String) {
        peers.isAnswering(id)
        publish("gateways.hello") { $0.member("to", id) }
    }

    private func sendSnapshot() {
        guard snapshot == nil else {
            snapshot?.isWantedAgain = true
            return
        }
        snapshot = OutgoingSnapshot(of: holdingsHere)
        sendPart()
    }

    private func sendPart() {
        guard var sending = snapshot else { return }
        // Listed when its first part leaves: what others know by then, and is not in it, they take for gone.
        if sending.isOver { sending = OutgoingSnapshot(of: holdingsHere) }
        let number = sending.nextPart
        let part = sending.takePart { holding in
            holding.kind == .presence ? told.contains(holding.member) : typing.isHeldHere(holding.member)
        }
        let isSent = publishNumbered("gateways.snapshot") {
            $0.member("part", number)
            $0.member("isLast", sending.isOver)
            for kind in [Kind.presence, .typing] {
                $0.member(
                    kind.rawValue,
                    array: { json in
                        for holding in part where holding.kind == kind {
                            json.object { Self.write(holding.member, to: &$0) }
                        }
                    })
            }
        }
        // Who misses a part asks for all of them again.
        snapshot = isSent && (!sending.isOver || sending.isWantedAgain) ? sending : nil
        guard snapshot != nil else { return }
        partTimer = loop.schedule(after: OutgoingSnapshot.partInterval) { [weak self] in
            self?.assumeIsolated { $0.sendPart() }
        }
    }

    /// What is open here is for others to know once the services do.
    private var holdingsHere: [Entry] {
        told.map { Entry(kind: .presence, member: $0) } + typing.placesHere.map { Entry(kind: .typing, member: $0) }
    }

    /// Says something of the places here.
    @discardableResult
    private func publishNumbered(_ subject: String, _ write: (inout JSONWriter) -> Void) -> Bool {
        lastNumber += 1
        return publish(subject) {
            $0.member("number", lastNumber)
            write(&$0)
        }
    }

    /// - Returns: whether the bus has taken it.
    @discardableResult
    private func publish(_ subject: String, _ write: (inout JSONWriter) -> Void) -> Bool {
        let data = JSONWriter.object {
            $0.member("gateway", gatewayID)
            write(&$0)
        }
        do throws(BusError) {
            try bus.publish(subject, data)
            return true
        } catch {
            log.warning("other gateways were not told", ["subject": subject, "error": "\(error)"])
            return false
        }
    }

    static func write(_ place: RoomMember, to json: inout JSONWriter) {
        json.member("roomId", place.roomID)
        json.member("userId", place.userID)
    }

    // MARK: Hearing

    private func hear(_ subject: String, _ data: JSONValue) {
        guard let object = data.object, let id = object["gateway"]?.string, id != gatewayID else { return }
        let isNew = peers.heard(from: id)
        let number = object["number"]?.int
        switch subject {
        case "hello":
            // Its snapshot follows.
            if isNew { peers.isAnswering(id) }
            if object["to"]?.string ?? gatewayID == gatewayID { sendSnapshot() }
        case "alive":
            if isNew { ask(id) }
            if let number { peers.hasSaid(number, by: id) }
        case "snapshot":
            guard let number else { return }
            peers.isAnswering(id)
            peers.said(number, by: id)
            takePart(object, from: id)
        default:
            guard let number, let kind = Kind(rawValue: subject), let place = Self.place(object),
                let isOn = object["isOn"]?.bool
            else { return }
            if isNew { ask(id) }
            peers.said(number, by: id)
            set(isOn, Entry(kind: kind, member: place), from: id)
        }
    }

    private func takePart(_ object: JSONObject, from id: String) {
        if object["part"]?.int == 0 {
            let known =
                open.places(ofGateway: id).map { Entry(kind: .presence, member: $0) }
                + typing.places(ofGateway: id).map { Entry(kind: .typing, member: $0) }
            peers.snapshotBegins(of: id, knowing: Set(known))
        }
        for kind in [Kind.presence, .typing] {
            for place in object[kind.rawValue]?.array?.lazy.compactMap({ $0.object.flatMap(Self.place) }) ?? [] {
                set(true, Entry(kind: kind, member: place), from: id)
            }
        }
        guard object["isLast"]?.bool == true else { return }
        for holding in peers.snapshotEnds(of: id) { set(false, holding, from: id) }
    }

    private func set(_ isOn: Bool, _ holding: Entry, from id: String) {
        peers.confirm(holding, of: id)
        switch holding.kind {
        case .presence: open.set(isOn, at: holding.member, byGateway: id)
        case .typing: typing.set(isOn, at: holding.member, byGateway: id)
        }
        announceChange(holding.kind, holding.member)
    }

    private static func place(_ object: JSONObject) -> RoomMember? {
        guard let roomID = object["roomId"]?.string, let userID = object["userId"]?.string else { return nil }
        return RoomMember(roomID: roomID, userID: userID)
    }
}
