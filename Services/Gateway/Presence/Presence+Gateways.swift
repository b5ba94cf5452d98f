import JSON
import MessageBus
import Reactor

// What gateways tell each other.
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

    // MARK: Saying

    /// Tells the other gateways what changed here, and clients if that makes a difference.
    func tell(_ kind: Kind, _ place: Place, isOn: Bool) {
        publish("gateways.\(kind.rawValue)") {
            Self.write(place, to: &$0)
            $0.member("isOn", isOn)
        }
        announceChange(kind, place)
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

    static func write(_ place: Place, to json: inout JSONWriter) {
        json.member("roomId", place.roomID)
        json.member("userId", place.userID)
    }
}
