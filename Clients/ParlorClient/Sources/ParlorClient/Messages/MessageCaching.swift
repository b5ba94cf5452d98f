/// Writes a conversation's newest messages to the cache, soon after they have changed.
@MainActor
final class MessageCaching {
    private let roomID: String
    private let timeline: Timeline
    private let loader: MessageLoader
    private let backing: MessageBacking
    private let pause: Duration
    private let caching: DelayedWork
    /// The version of `items` that the cache has.
    private var cachedVersion = 0
    /// The step with which the cache was written.
    private var cachedStep: String?
    /// True once the cached messages have been read. An earlier write could replace them with fewer.
    private var isRead = false

    /// What the cache has to contain.
    struct Newest {
        let messages: CachedMessages
        let version: Int
    }

    init(
        roomID: String, timeline: Timeline, loader: MessageLoader, backing: MessageBacking, pause: Duration
    ) {
        self.roomID = roomID
        self.timeline = timeline
        self.loader = loader
        self.backing = backing
        self.pause = pause
        caching = DelayedWork(backing.clock)
    }

    /// True if something that is shown may still be on its way to the cache.
    var isBehind: Bool { cachedVersion != timeline.version }

    var newest: Newest {
        Newest(
            messages: CachedMessages(
                newest: backing.cache.messageLimit, of: timeline.store, step: loader.verifiedStep),
            version: timeline.version)
    }

    /// Notes that the cached messages were read.
    ///
    /// - Parameter lacksChanges: true if something has changed since, which has to be written again.
    func noteRead(_ cached: CachedMessages, lacksChanges: Bool) {
        cachedVersion = lacksChanges ? -1 : timeline.version
        cachedStep = cached.step
        isRead = true
    }

    func writeSoon() {
        guard loader.wasVerified, isBehind || loader.verifiedStep != nil else { return }
        caching.start(after: pause) { [weak self] in await self?.write() }
    }

    /// Writes the newest messages to the cache. Does nothing if the cache has them as they are shown, unless this write
    /// would newly mark them as current.
    ///
    /// - Parameter newest: what to write; nil for what is shown now.
    func write(_ newest: Newest? = nil) async {
        caching.cancel()
        guard isRead else { return }
        let newest = newest ?? self.newest
        let step = newest.messages.step
        if cachedVersion == newest.version, step == nil || backing.fresh.isCurrent(cachedStep, in: roomID) { return }
        guard await backing.cache.keep(newest.messages, of: roomID) else {
            // The file lacks events that were shown here. The server does not send them again on a join.
            return backing.fresh.noteStale(roomID)
        }
        if newest.version >= cachedVersion { (cachedVersion, cachedStep) = (newest.version, step) }
    }
}
