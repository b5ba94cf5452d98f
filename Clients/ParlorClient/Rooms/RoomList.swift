import Foundation
import Observation

/// The live rooms of one person, sorted and also grouped by person.
///
/// Events and answers to requests change the rooms. An event is shown at once. Events that follow within 100 ms are
/// shown together. If an event lacks data, such as a message's text, the room is fetched, once for many events. If the
/// server cannot be reached, the rooms stay and ``failure`` is set.
///
/// An answer never undoes an event that came during its request. Events of other people's rooms are ignored.
@MainActor @Observable
public final class RoomList {
    /// The age beyond which the list is fetched again when the app comes to the foreground.
    public nonisolated static let freshness: TimeInterval = 5 * 60

    /// The rooms as they are shown. `store` may be ahead of them.
    var shown: SortedRooms
    /// True while all rooms are being fetched.
    public private(set) var isLoading = false
    /// True once the server has sent all rooms. Until then the rooms are cached ones, and an empty list may be
    /// wrong.
    public private(set) var isLoaded = false
    /// The failure of the last fetch of all rooms; nil if it succeeded.
    public private(set) var failure: ClientFailure?
    /// The ids of the rooms in which a message of the person has failed: the server refused it, or the device's disk
    /// did not store or delete it. It stays failed until the person retries or discards it in the room.
    ///
    /// Empty until the stored messages have been read, and in a list without a ``RoomsClient``. A room may be here that
    /// is not in the list.
    public private(set) var failedRoomIDs: Set<Room.ID> = []
    /// The counts that the rooms' rows show.
    public let counts: RoomCountManager
    /// The people with whom the person shares no room yet.
    public let peopleWithoutRooms: PeopleWithoutRooms

    /// The sort order of the rooms. A change is shown at once.
    public var order: RoomOrder {
        get {
            access(keyPath: \.order)
            return store.order
        }
        set {
            withMutation(keyPath: \.order) { store.order = newValue }
            show()
        }
    }

    /// The version of ``failedRoomIDs``.
    @ObservationIgnored private var failedVersion = 0
    /// Called with the id of a room when the server says that it is not the person's any more.
    @ObservationIgnored var onGone: @MainActor (String) -> Void = { _ in }
    @ObservationIgnored var store: RoomStore
    /// The rooms whose rows do not show their latest counts yet.
    @ObservationIgnored var stale: Set<String> = []
    /// True if an event's change was shown within the last 100 ms.
    @ObservationIgnored var isResting = false
    /// The task that fetches what events lacked.
    @ObservationIgnored var fetching: Task<Void, Never>?
    /// The fields that the last answer lacked, because services were unavailable.
    @ObservationIgnored var missingFields: Set<RoomFieldSource> = []
    /// The task that fetches all rooms until these fields are there.
    @ObservationIgnored var fetchingMissingFields: Task<Void, Never>?
    @ObservationIgnored let server: any RoomServer
    @ObservationIgnored let clock: any ClientClock
    @ObservationIgnored let random: @Sendable () -> Double
    @ObservationIgnored let cache: RoomListCache?
    /// The task that writes to the cache.
    @ObservationIgnored var keeping: Task<Void, Never>?
    /// True if the cache has to be written again.
    @ObservationIgnored var isToBeKept = false
    /// True if all rooms have to be fetched. The request is then repeated until the server answers.
    var needsRefresh: Bool { pendingLoads > settled }
    /// Counts the reasons to fetch all rooms.
    @ObservationIgnored private var pendingLoads = 1
    /// The value of `pendingLoads` at the start of the last such request that was answered.
    @ObservationIgnored private var settled = 0
    /// The creations of rooms without an answer, which may have succeeded.
    @ObservationIgnored var pendingCreations: [PendingRoom: Attempt] = [:]
    @ObservationIgnored let makeID: () -> String
    /// The request for all rooms that is in progress.
    @ObservationIgnored var running: Task<Void, Never>?
    /// The request for all rooms that follows it.
    @ObservationIgnored private var queued: Task<Void, Never>?
    /// The time of the last answer with all rooms.
    @ObservationIgnored private var loadedAt: Date?
    /// True if the socket is connected but has not finished its replay.
    @ObservationIgnored private var isCatchingUp = false
    /// The rooms that are being left. The value is true if an element was created there meanwhile.
    @ObservationIgnored private var leaving: [String: Bool] = [:]
    /// The open rooms whose unread count may be wrong.
    @ObservationIgnored private var doubtful: Set<String> = []
    /// The value of ``people`` for the shown rooms, once it has been computed.
    @ObservationIgnored var groups: [PersonWithRooms]?

    /// Creates a list without rooms. ``RoomsClient/rooms`` is one.
    ///
    /// - Parameters:
    ///   - userID: the person whose rooms are shown.
    ///   - cache: stores the rooms for the next start; nil for none.
    ///   - random: returns a number from 0 up to 1, which spreads retries.
    ///   - makeID: returns a unique id for each created room.
    package init(
        for userID: String, from server: any RoomServer, order: RoomOrder = .activity, clock: any ClientClock,
        cache: RoomListCache? = nil, random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        makeID: @escaping () -> String = { UUID().uuidString }
    ) {
        store = RoomStore(for: userID, order: order)
        shown = store.sorted
        counts = RoomCountManager(for: userID, clock: clock)
        peopleWithoutRooms = PeopleWithoutRooms(from: server, clock: clock, random: random)
        self.server = server
        self.clock = clock
        self.makeID = makeID
        self.cache = cache
        self.random = random
    }

    /// The rooms in the ``order``, latest first.
    public var rooms: [Room] { shown.all }

    /// The people who share rooms with the person, latest activity first. Each has these rooms, sorted as by
    /// ``RoomOrder/content``.
    public var people: [PersonWithRooms] {
        let rooms = rooms
        if let groups { return groups }
        let made = RoomsByPerson(rooms, for: store.userID).people
        groups = made
        return made
    }

    /// The room with this id; nil if it is not in the list.
    public subscript(roomID: String) -> Room? { shown[roomID] }

    func take(_ failed: FailedRooms) {
        guard failed.version > failedVersion else { return }
        (failedRoomIDs, failedVersion) = (failed.ids, failed.version)
    }

    // MARK: Loading

    /// Fetches all rooms, and returns when a request that was made after this call has ended. Concurrent calls share
    /// one request. If it fails, ``failure`` is set.
    public func refresh() async {
        if let queued { return await queued.value }
        guard let current = running else {
            let task = Task { await load() }
            running = task
            return await task.value
        }
        let next = Task {
            await current.value
            (running, queued) = (queued, nil)
            await load()
        }
        queued = next
        await next.value
    }

    /// Fetches all rooms again if the list is older than ``freshness``. Call it when the app comes to the foreground;
    /// ``RoomsClient/enterForeground()`` does so.
    package func becomeActive() async {
        if let running { return await running.value }
        if let loadedAt, abs(clock.now.timeIntervalSince(loadedAt)) <= Self.freshness { return }
        await refresh()
    }

    /// Fetches one room again after 100 ms, once for all calls within that time. Call it for an event of a
    /// plugin that changes its fields of the room.
    ///
    /// Returns at once; use ``refresh()`` to wait for an answer. The request is repeated until the server answers one
    /// that was made after the last call. Does nothing for a room that is not in the list.
    public func refreshSoon(_ roomID: String) {
        // The room counts as changed, because the answer to a request in progress may be older.
        guard store.touch(roomID, now: clock.now) else { return }
        store.need(.answer, of: roomID)
        fetchNeeded()
    }

    /// Fetches a room, because the answer to another request said that the server does not know it any more. If the
    /// server confirms that, the room is forgotten.
    func check(_ roomID: String) {
        store.check(roomID, now: clock.now)
        fetchNeeded()
    }

    func load() async {
        isLoading = true
        await showKept()
        let load = store.beginLoad()
        let pendingLoads = pendingLoads
        do {
            let answer = try await server.rooms(sortedBy: order)
            let missingFields = RoomFieldSource.named(in: answer.degraded)
            let overtaken = store.finish(load, with: answer.rooms, missingFields: missingFields, now: clock.now)
            counts.load(answer.rooms, keeping: overtaken, degraded: answer.degraded)
            stale.formUnion(answer.rooms.map(\.id))
            (isLoaded, loadedAt, failure, settled) = (true, clock.now, nil, pendingLoads)
            show()
            keepRooms()
            fetchNeeded()
            noteMissingFields(missingFields, isOfAll: true)
        } catch {
            store.abandon(load)
            let reason = ClientFailure(error)
            failure = reason
            if !reason.isRetryable { settled = pendingLoads }
            fetchNeeded()
        }
        isLoading = false
        running = nil
    }

    // MARK: Events

    /// Applies an update of the socket. Call it with every update, in order.
    ///
    /// After each reconnect all rooms are fetched again, even after a full replay, because replayed badges may be
    /// old.
    package func apply(_ update: SocketUpdate) {
        switch update {
        case .connecting, .refusedRoom: break
        case .event(let event): apply(event)
        case .connected:
            isCatchingUp = true
            loadWhatFailed()
        case .joined(let room):
            guard isOpen(room.id) else { return }
            for person in room.participants {
                store.notePresence(person.isPresent, of: person.userID, in: room.id, isAnswer: true)
            }
            showSoon(room.id)
        case .recovered:
            endCatchingUp()
            pendingLoads += 1
            Task { await refresh() }
        case .disconnected:
            endCatchingUp()
            counts.noteAbsence()
            store.forgetPresence()
            show()
        }
    }

    /// Applies an event.
    package func apply(_ event: RoomEvent) {
        if case .presence(let roomID, let userID, let isPresent) = event {
            guard isOpen(roomID) else { return }
            store.notePresence(isPresent, of: userID, in: roomID)
            return showSoon(roomID)
        }
        // A replayed event may have been applied before, and old badges would undo later ones.
        let isOld = isCatchingUp && event.isRepeated
        // This compares the badges with the counts from before the event, so it comes first.
        let isDoubtful = !isOld && isDoubtful(event)
        if !isOld { noteDoubtIfOpen(event) }
        let isIncomplete = !isOld && counts.apply(event) || isDoubtful
        guard let roomID = store.apply(event, now: clock.now) else { return }
        if isIncomplete { store.need(.answer, of: roomID) }
        if leaving[roomID] != nil, event.isOfNewElement { leaving[roomID] = true }
        if isOld {
            if counts.latest(of: roomID) == nil { counts.apply(event) }
            store.need(.answer, of: roomID)
        }
        showSoon(roomID)
        if case .roomCreated = event, isLoaded { keepRooms() }
        if !isOld { fetchNeeded() }
    }

    /// Returns true if the room is open and is not being left.
    private func isOpen(_ roomID: String) -> Bool { counts.isOpen(roomID) && leaving[roomID] == nil }

    /// Returns true for badges that may not match the events so far, so that the room has to be fetched.
    ///
    /// The gateway composes badges independently of the events of new messages and elements. So badges may lack a
    /// message or element that is already counted here. Or they include one whose event is still to come, and which
    /// would then be counted twice. In the latter case the badges are higher than the counts here. By the contract, a
    /// new message or element itself causes no `room:badges` event.
    private func isDoubtful(_ event: RoomEvent) -> Bool {
        guard case .badges(let roomID, let badges, _) = event, !counts.isOpen(roomID),
            let known = counts.latest(of: roomID)
        else { return false }
        return badges.messages > known.unreadMessages || badges.elements > known.unseenElements
            || store.hasLateArrival(in: roomID, now: clock.now)
    }

    /// Notes whether the badges of an open room may not match its messages. Reading changes them all the time, so the
    /// room is fetched once, when it is left, unless later badges have matched.
    private func noteDoubtIfOpen(_ event: RoomEvent) {
        guard case .badges(let roomID, let badges, _) = event, counts.isOpen(roomID),
            let known = counts.latest(of: roomID)
        else { return }
        if badges.messages > known.unreadMessages || store.hasLateArrival(in: roomID, now: clock.now) {
            doubtful.insert(roomID)
        } else {
            doubtful.remove(roomID)
        }
    }

    private func endCatchingUp() {
        isCatchingUp = false
        // The `:global` events that belong to replayed events will not come: they are never replayed.
        store.namedAt = [:]
    }

    /// Notes that the person has opened the room, and marks its elements as seen.
    package func enter(_ roomID: String) {
        leaving[roomID] = nil
        counts.enter(roomID)
        stale.insert(roomID)
        show()
    }

    /// Call this before the room is left on the server. The room counts as open until ``leave(_:)``.
    package func beginLeaving(_ roomID: String) {
        leaving[roomID] = false
        store.forgetPresence(in: roomID)
        show()
    }

    /// Call this after the room was left on the server. Later elements of others are unseen.
    package func leave(_ roomID: String) {
        let mayBeUnseen = counts.leave(roomID)
        // Only the server knows whether the room was left when an element was created.
        let isNewElement = leaving.removeValue(forKey: roomID) == true
        let isDoubtful = doubtful.remove(roomID) != nil
        guard mayBeUnseen || isNewElement || isDoubtful, store.sorted.contains(roomID) else { return }
        store.need(.answer, of: roomID)
        fetchNeeded()
    }

    // MARK: Answers

    /// Applies an answer with one room.
    ///
    /// - Parameter isChange: true if the call created or changed the room.
    func take(_ answer: RoomAnswer, _ load: RoomStore.Load, isChange: Bool = false) {
        let room = answer.room
        let missingFields = RoomFieldSource.named(in: answer.degraded)
        let isNew = store.finish(load, with: room, missingFields: missingFields, isChange: isChange, now: clock.now)
        if isNew || counts.latest(of: room.id) == nil { counts.load(room, degraded: answer.degraded) }
        stale.insert(room.id)
        show()
        keepRooms()
        fetchNeeded()
        noteMissingFields(missingFields)
    }

    /// Removes a room, because the server says that it is no longer the person's.
    func forget(_ roomID: String) {
        store.forget(roomID)
        counts.forget(roomID)
        show()
        onGone(roomID)
        keepRooms()
    }
}
