import Contracts
import JSON
import MessageBus
import ServiceKit

// What services are told: they know before anyone else does, so that they count right from then on.
extension Presence {
    /// Tells the services what a place has become, then everyone else. What changes meanwhile is told next, so that the last
    /// that anyone hears is how it is.
    ///
    /// - Returns: what ends when all is told; nil if it is already.
    func settle(_ place: RoomMember) -> Task<Void, Never>? {
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

    /// A service has announced itself: it is told all that is open here, as it may have forgotten.
    package nonisolated func learn(_ manifest: Manifest) {
        loop.execute { self.assumeIsolated { $0.note(manifest) } }
    }

    /// A service is gone for good: nothing is sent to it any more.
    package nonisolated func forget(service: String) {
        loop.execute {
            self.assumeIsolated { presence in
                guard let subject = presence.subjects.removeValue(forKey: service) else { return }
                presence.untold[subject] = nil
            }
        }
    }

    private func note(_ manifest: Manifest) {
        subjects[manifest.service] = manifest.presenceSubject
        guard let subject = manifest.presenceSubject else { return }
        // Also what is being told now: whoever tells it did not know of this service.
        untold[subject, default: []].formUnion(told.union(open.placesHere))
        retell(subject)
    }

    private func tellService(_ subject: String, _ place: RoomMember, isOpen: Bool) async {
        // One that is to be told again stays so: what it was told before may be carried out after this.
        if await ask(subject, [place], isOpen: isOpen) { return }
        if untold[subject, default: []].isEmpty {
            log.warning("a service is to be told later who has a room open", ["subject": subject])
        }
        // So there are no more than the limit and what is open.
        if isOpen || untold[subject, default: []].count < Self.maxUntold {
            untold[subject, default: []].insert(place)
        } else {
            untold[subject]?.remove(place)
        }
    }

    /// Tells a service what it may not know, until it knows all or does not answer.
    func retell(_ subject: String) {
        guard untold[subject]?.isEmpty == false, retelling.insert(subject).inserted else { return }
        Task {
            while let batch = nextUntold(subject) {
                guard await ask(subject, batch.places, isOpen: batch.isOpen) else { break }
                // What has changed meanwhile was perhaps told before this, by another instance: it is told again.
                untold[subject]?.subtract(batch.places.filter { open.isHeldHere($0) == batch.isOpen })
            }
            retelling.remove(subject)
        }
    }

    private func nextUntold(_ subject: String) -> (places: [RoomMember], isOpen: Bool)? {
        guard let places = untold[subject], let first = places.first else { return nil }
        let isOpen = open.isHeldHere(first)
        return (Array(places.lazy.filter { self.open.isHeldHere($0) == isOpen }.prefix(Self.maxToldAtOnce)), isOpen)
    }

    /// - Returns: whether the service has taken it in.
    private func ask(_ subject: String, _ places: [RoomMember], isOpen: Bool) async -> Bool {
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
