import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorLogging
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit
import Synchronization

/// Discovers the services on the bus, and follows the event log of each that has one.
package final class Directory: Sendable {
    let state: Mutex<DirectoryState>
    let followers: LogFollowers
    private let bus: any MessageBus
    let file: ManifestFile?
    let clock: any WallClock
    let log: Logger
    private let announcementPause: Duration
    private let announcements: AnnouncementLog
    private let onAnnouncement: @Sendable (Manifest) -> Void
    private let onHead: @Sendable (LogID, LogPosition) -> Void
    let onForgotten: @Sendable (_ service: String) -> Void

    /// The limit of services. On a bus whose peers share a token, each of them can announce any name.
    package static let maxServices = 256
    /// A service that is not required is removed after this time without an announcement. Its routes then count as
    /// unknown, and not as unavailable.
    static let lifetime: Duration = .seconds(86_400)
    /// The interval at which services are asked to announce themselves, and silent ones are
    /// removed.
    private static let sweepInterval: Duration = .seconds(600)

    /// - Parameters:
    ///   - catalog: one without services.
    ///   - file: the cache of manifests across restarts; nil if all services are in this process.
    ///   - announcementPause: the least time between two announcements of a service that are read.
    ///   - logs: receives the entries of every service's log, on the loop.
    ///   - onAnnouncement: called with each announcement, even if it changes nothing, on any thread.
    ///   - onHead: receives the head of a log, after `onAnnouncement`, even for a log that is not
    ///     followed here.
    ///   - onForgotten: called with each service that was removed, on any thread.
    package init(
        catalog: Catalog, bus: any MessageBus, on loop: EventLoop, file: ManifestFile?,
        clock: any WallClock = SystemClock(), log: Logger, faults: ReplyFaults,
        announcementPause: Duration = AnnouncementThrottle.pause, logs: any LogReceiver,
        onAnnouncement: @escaping @Sendable (Manifest) -> Void,
        onHead: @escaping @Sendable (LogID, LogPosition) -> Void = { _, _ in },
        onForgotten: @escaping @Sendable (_ service: String) -> Void = { _ in }
    ) {
        state = Mutex(DirectoryState(catalog: catalog))
        followers = LogFollowers(bus: bus, on: loop, log: log, faults: faults, receiver: logs)
        self.bus = bus
        self.file = file
        self.clock = clock
        self.log = log
        self.announcementPause = announcementPause
        announcements = AnnouncementLog(log)
        self.onAnnouncement = onAnnouncement
        self.onHead = onHead
        self.onForgotten = onForgotten
    }

    package var catalog: Catalog { state.withLock { $0.catalog } }

    /// Returns true if a subject's service accepts requests in batches.
    package func takesBatches(on subject: String) -> Bool { state.withLock { $0.catalog.batched.contains(subject) } }

    package func start() throws(BusError) {
        for known in file?.load(at: clock.now()) ?? [] {
            let name = known.manifest.service
            guard learn(known.manifest) else { continue }
            state.withLock { state in
                state.saved[name] = known.manifest.json
                state.announcedAt[name] = known.announcedAt
            }
        }
        let throttle = AnnouncementThrottle(pause: announcementPause) { [weak self] in self?.receive($0) }
        let subscription = try bus.subscribe(Subject.announcements) { throttle.receive($0) }
        let returns = bus.onStateChange { [weak self] change in
            guard let self else { return }
            // A service that could not answer does not count as silent.
            state.withLock { $0.wasAsked = false }
            if change == .connected { discover() }
        }
        let sweeping = Task { [weak self] in
            while true {
                do { try await Task.sleep(for: Self.sweepInterval) } catch { return }
                self?.sweep()
            }
        }
        state.withLock { state in
            state.subscriptions = [subscription, returns]
            state.sweeping = sweeping
        }
        discover()
    }

    /// Returns once these services, and all that are known to have a log, have announced themselves and are followed.
    /// After that, no request fails because one of them is still unknown. Also returns at the time limit, or if the
    /// task is cancelled.
    ///
    /// - Returns: the services that are still missing.
    package func settle(with services: Set<String>, within limit: Duration) async -> Set<String> {
        let missing = await followers.settle(within: limit) {
            let catalog = self.catalog
            let unknown = services.filter { catalog.manifests[$0]?.logs.isEmpty ?? true }
            return Set(unknown.map { LogID($0) }).union(catalog.logs)
        }
        return Set(missing.map(\.service))
    }

    /// Stops, and returns once the file is written.
    package func stop() async {
        let subscriptions = state.withLock { state in
            state.sweeping?.cancel()
            return state.subscriptions
        }
        for subscription in subscriptions { subscription.cancel() }
        followers.stop()
        await file?.close()
    }

    /// Notes that this entry exists: a client or service already knows of it.
    package func expect(_ position: EntryPosition) {
        followers[position.log]?.expect(position.seq)
    }

    /// Asks every service to announce itself. An announcement also contains the head of the service's log.
    func discover() {
        do throws(BusError) {
            try bus.publish(Subject.discover, JSONValue.emptyObject)
        } catch {
            log.error("services could not be asked to announce themselves", ["error": "\(error)"])
        }
    }

    private func receive(_ message: BusMessage) {
        // Refused announcements count, too: the service is up.
        let name = Announcement.service(announcedOn: message.subject)
        let isKnown = noteHeard(name)
        let announcement: Announcement
        do throws(Announcement.Refusal) {
            announcement = try Announcement(message)
        } catch {
            let reason = error.detail.isEmpty ? error.reason : "\(error.reason): \(error.detail)"
            noteRefused(name, reason)
            // As seldom as in the log, because services repeat their announcements.
            if announcements.noteRefusal(of: message.subject, error) {
                report(
                    JSONWriter.object {
                        $0.member("reason", reason)
                        // For services that know claims alone.
                        $0.member("what", reason)
                        $0.member("of", "the gateway")
                    }, to: name)
            }
            return
        }
        let manifest = announcement.manifest
        guard learn(manifest) else { return }
        announcements.noteMistakes(in: announcement, catalog)
        if !isKnown { noteHeard(manifest.service) }
        for (logID, head) in announcement.heads {
            followers[logID]?.announced(head)
            onHead(logID, head)
        }
        if manifest.logs.isEmpty { followers.noteSettled(LogID(manifest.service)) }
        keep(manifest)
    }

    /// Adds a manifest.
    ///
    /// - Returns: false if there are too many already, or if it claims what another service has.
    private func learn(_ manifest: Manifest) -> Bool {
        let name = manifest.service
        if let (claim, holder) = catalog.conflict(with: manifest) {
            // A required service takes what it claims from one that is not required. For example, a service that
            // announces itself before Accounts cannot keep the login route.
            guard catalog.isRequired(name), holder != Catalog.gateway, !catalog.isRequired(holder) else {
                reject(name, claim, of: holder)
                return false
            }
            remove(holder)
            reject(holder, claim, of: name)
            return learn(manifest)
        }
        let hasRoom = state.withLock { state in
            state.catalog.manifests[name] != nil || followers.follows(name)
                || max(state.catalog.manifests.count, followers.services.count) < Self.maxServices
        }
        guard hasRoom else {
            noteRefused(name, "there are \(Self.maxServices) services already")
            announcements.noteTooMany(Self.maxServices, name)
            return false
        }
        guard noteLogs(of: manifest) else {
            noteRefused(name, "its logs are others again within \(LogFollowers.restartInterval)")
            return false
        }
        // Follow the logs first: whoever finds the service in the catalog may expect one of its
        // entries.
        let isRequired = catalog.isRequired(name)
        let followed = manifest.logs.filter { followers.follow($0, isRequired: isRequired) }
        let isUnknown = state.withLock { state -> Bool? in
            // Check again: another thread may have added a service with the same claims meanwhile, or removed this one.
            guard state.catalog.conflict(with: manifest) == nil, followed.allSatisfy({ followers[$0] != nil }) else {
                return nil
            }
            // An earlier version of the service may have had others.
            if followers.follows(name, besides: manifest.logs) { followers.remove(name, except: manifest.logs) }
            defer { state.catalog = state.catalog.adding(manifest) }
            // Only a changed manifest clears the refusal. An older instance may repeat its manifest while that of a
            // newer instance is refused.
            if state.catalog.manifests[name]?.json != manifest.json { state.refused.remove(name) }
            return state.catalog.manifests[name] == nil
        }
        guard let isUnknown else {
            state.withLock { state in
                if state.catalog.manifests[name] == nil { followers.remove(name) }
            }
            return learn(manifest)
        }
        announcements.noteEffects(of: manifest, isDiscovered: isUnknown, catalog)
        onAnnouncement(manifest)
        return true
    }

    /// Notes the logs of a service.
    ///
    /// - Returns: false if it is not required and has had other logs a short time ago: each change closes clients' sockets,
    ///   which no such service may do at will.
    private func noteLogs(of manifest: Manifest) -> Bool {
        state.withLock { state in
            let name = manifest.service
            guard manifest.hasEventLog, !state.catalog.isRequired(name) else { return true }
            let last = state.layouts[name]
            guard last?.layout != manifest.logLayout else { return true }
            let now = LoopInstant.now()
            if let changedAt = last?.changedAt, now - changedAt < LogFollowers.restartInterval { return false }
            state.layouts[name] = (manifest.logLayout, last == nil ? nil : now)
            return true
        }
    }

    /// Logs the reason here, and asks the service to log it too.
    private func reject(_ service: String, _ claim: String, of holder: String) {
        noteRefused(service, "\(claim) belongs to \(holder)")
        announcements.noteRejection(of: service, claim, of: holder)
        report(
            JSONWriter.object {
                $0.member("what", claim)
                $0.member("of", holder)
            }, to: service)
    }

    private func report(_ refusal: JSONValue, to service: String) {
        guard SubjectGrammar.isQueue(service) else { return }
        // An older service does not serve this subject, and a service in another language need not.
        bus.request(Subject.refusal(of: service), refusal, BusContext(requestID: "refusal")) { _ in }
    }

    private func remove(_ service: String) {
        state.withLock { forget([service], &$0) }
        onForgotten(service)
    }

    /// Forgets services, and stops following their logs. Call it with `state` locked, so that a service that announces
    /// itself meanwhile is followed again.
    func forget(_ services: Set<String>, _ state: inout DirectoryState) {
        state.forget(services)
        for name in services { followers.remove(name) }
    }

    private func keep(_ manifest: Manifest) {
        let (name, json, now) = (manifest.service, manifest.json, clock.now())
        state.withLock { state in
            // An operator may have had it removed meanwhile.
            guard state.catalog.manifests[name] != nil else { return }
            state.announcedNames.insert(name)
            guard state.saved[name] != json else { return }
            state.saved[name] = json
            state.announcedAt[name] = now
            // Within the lock: a later state must not be overwritten by an earlier one.
            file?.save(state.known)
        }
    }

    // MARK: Sweeping

    /// Removes the services that did not announce themselves for a day although they were asked, and asks all
    /// again.
    func sweep() {
        guard bus.isConnected else { return }
        let now = clock.now()
        let forgotten = state.withLock { state in
            let forgotten = state.silent(for: Self.lifetime, at: now)
            forget(forgotten, &state)
            state.refused.removeOld(before: now.adding(.zero - Self.sweepInterval * 2))
            file?.save(state.known)
            return forgotten
        }
        for name in forgotten {
            log.info("service forgotten: not announced for a day", ["name": name])
            onForgotten(name)
        }
        discover()
    }
}
