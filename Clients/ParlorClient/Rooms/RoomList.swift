import Foundation
import Observation

/// One person's rooms, live: in order, by person, and with the people who share no room with them yet.
///
/// All changes arrive through ``apply(_:)-(SocketUpdate)``, in order. An event's data is shown at once, and later events
/// within 100 ms together. If an event lacks data, such as a message's text, the room is fetched, once for
/// many events. If the server cannot be reached, the rooms stay and ``failure`` is set.
///
/// An answer never undoes an event that came during its request. Events of other people's rooms are not
/// recorded.
@MainActor @Observable
public final class RoomList {
    /// The age beyond which the list is fetched again when the app comes to the foreground.
    public nonisolated static let freshness: TimeInterval = 5 * 60

    var shown: SortedRooms
    /// True while all rooms are being fetched.
    public private(set) var isLoading = false
    /// True once there has been an answer. Until then the rooms are cached ones, and an empty list may be
    /// wrong.
    public private(set) var isLoaded = false
    /// The failure of the last load; nil if it succeeded.
    public private(set) var failure: ClientFailure?
    /// The counts of the rooms' rows.
    public let counts: RoomCountManager
    public let peopleWithoutRooms: PeopleWithoutRooms

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

    /// Called with a room that the server reports as no longer the person's.
    @ObservationIgnored var onGone: @MainActor (String) -> Void = { _ in }
    @ObservationIgnored var store: RoomStore
    /// Rooms whose rows do not show their counts yet.
    @ObservationIgnored var stale: Set<String> = []
    /// True if an event's change was shown within the last 100 ms.
    @ObservationIgnored var isResting = false
    @ObservationIgnored var fetching: Task<Void, Never>?
    /// The fields that the last answer lacked, because services were unavailable.
    @ObservationIgnored var missingFields: Set<RoomFieldSource> = []
    @ObservationIgnored var fetchingMissingFields: Task<Void, Never>?
    @ObservationIgnored let server: any RoomServer
    @ObservationIgnored let clock: any ClientClock
    @ObservationIgnored let random: @Sendable () -> Double
    @ObservationIgnored let cache: RoomListCache?
    @ObservationIgnored var keeping: Task<Void, Never>?
    @ObservationIgnored var isToBeKept = false
    /// True if only an answer with all rooms brings what the list lacks. The request is then repeated.
    var needsRefresh: Bool { pendingLoads > settled }
    /// The number of reasons for a load so far.
    @ObservationIgnored private var pendingLoads = 1
    /// The value of `pendingLoads` at the start of the last load that was answered.
    @ObservationIgnored private var settled = 0
    /// Creations without an answer, which may have succeeded.
    @ObservationIgnored var pendingCreations: [PendingRoom: Attempt] = [:]
    @ObservationIgnored let makeID: () -> String
    @ObservationIgnored var running: Task<Void, Never>?
    @ObservationIgnored private var queued: Task<Void, Never>?
    @ObservationIgnored private var loadedAt: Date?
    /// True if the socket is connected but has not finished its replay.
    @ObservationIgnored private var isCatchingUp = false
    /// Rooms that are being left, and whether elements were created there meanwhile.
    @ObservationIgnored private var leaving: [String: Bool] = [:]
    @ObservationIgnored var groups: [PersonWithRooms]?

    /// - Parameters:
    ///   - userID: the person whose rooms are shown.
    ///   - cache: stores the rooms for the next start; nil for none.
    ///   - random: returns a number from 0 up to 1, which spreads retries.
    ///   - makeID: returns a unique id for each created room.
    public init(
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

    /// The people with shared rooms, latest activity first, each with these rooms by content.
    public var people: [PersonWithRooms] {
        let rooms = rooms
        if let groups { return groups }
        let made = RoomsByPerson(rooms, for: store.userID).people
        groups = made
        return made
    }

    public subscript(roomID: String) -> Room? { shown[roomID] }

    // MARK: Loading

    /// Loads all rooms, and returns when a request made after this call has ended. Concurrent calls share one.
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

    /// Call this when the app comes to the foreground. It fetches a list older than five minutes again.
    public func becomeActive() async {
        if let running { return await running.value }
        if let loadedAt, clock.now.timeIntervalSince(loadedAt) <= Self.freshness { return }
        await refresh()
    }

    /// Fetches one room again, 100 ms after the first of several calls: for an event of a service that changes
    /// its fields of the room. Returns at once; ``refresh()`` returns with the answer.
    ///
    /// It is repeated until the server answers a request made after the last call. Does nothing for a room that
    /// is not in the list.
    public func refreshSoon(_ roomID: String) {
        // As an event: the answer to a request under way may be older.
        guard store.touch(roomID, now: clock.now) else { return }
        store.need(.answer, of: roomID)
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

    /// Applies the socket's updates.
    ///
    /// After each reconnect all rooms are fetched again, even after a full replay: presence is not
    /// replayed, and replayed badges may be old.
    public func apply(_ update: SocketUpdate) {
        switch update {
        case .connecting: break
        case .event(let event): apply(event)
        case .connected:
            isCatchingUp = true
            loadWhatFailed()
        case .recovered:
            endCatchingUp()
            pendingLoads += 1
            Task { await refresh() }
        case .disconnected:
            endCatchingUp()
            counts.noteAbsence()
        }
    }

    /// Applies an event.
    public func apply(_ event: RoomEvent) {
        // A replayed event may have been applied before, and old badges would undo later ones.
        let isOld = isCatchingUp && event.isRepeated
        // Compared with the counts from before the event.
        let isDoubtful = !isOld && isDoubtful(event)
        let isIncomplete = !isOld && counts.apply(event) || isDoubtful
        guard let roomID = store.apply(event, now: clock.now) else { return }
        if isIncomplete { store.need(.answer, of: roomID) }
        if leaving[roomID] != nil, event.isOfNewElement { leaving[roomID] = true }
        if isOld {
            if counts.latest(of: roomID) == nil { counts.apply(event) }
            store.need(.answer, of: roomID)
        }
        showSoon(roomID)
        if !isOld { fetchNeeded() }
    }

    /// True for badges that may include a message or an element which is counted here as well, or may lack one.
    ///
    /// The gateway composes badges in its own time, beside the events of arrivals. By the contract an arrival
    /// sends none, so badges that are higher than the counts here include one whose event is still to come.
    private func isDoubtful(_ event: RoomEvent) -> Bool {
        guard case .badges(let roomID, let badges, _) = event, !counts.isOpen(roomID),
            let known = counts.latest(of: roomID)
        else { return false }
        return badges.messages > known.unreadMessages || badges.elements > known.unseenElements
            || store.hasLateArrival(in: roomID, now: clock.now)
    }

    private func endCatchingUp() {
        isCatchingUp = false
        // The `:global` events that would have followed are never replayed.
        store.namedAt = [:]
    }

    /// Opens the room for the person.
    public func enter(_ roomID: String) {
        leaving[roomID] = nil
        counts.enter(roomID)
        stale.insert(roomID)
        show()
    }

    /// Call this before the room is left on the server. The room counts as open until ``leave(_:)``.
    public func beginLeaving(_ roomID: String) { leaving[roomID] = false }

    /// Closes the room, once the server has left it: later elements of others are unseen.
    public func leave(_ roomID: String) {
        let mayBeUnseen = counts.leave(roomID)
        // Only the server knows whether the room was left when an element was created.
        let isNewElement = leaving.removeValue(forKey: roomID) == true
        guard mayBeUnseen || isNewElement, store.sorted.contains(roomID) else { return }
        store.need(.answer, of: roomID)
        fetchNeeded()
    }

    // MARK: Answers

    /// Applies an answer with one room.
    ///
    /// - Parameter isChange: true if the call created or changed the room.
    func take(_ answer: RoomAnswer, _ load: RoomStore.Load, isChange: Bool = false) {
        let (room, missingFields) = (answer.room, RoomFieldSource.named(in: answer.degraded))
        let isNew = store.finish(load, with: room, missingFields: missingFields, isChange: isChange, now: clock.now)
        if isNew || counts.latest(of: room.id) == nil { counts.load(room, degraded: answer.degraded) }
        stale.insert(room.id)
        show()
        keepRooms()
        fetchNeeded()
        noteMissingFields(missingFields)
    }

    /// Removes a room that the server reports as not the person's.
    func forget(_ roomID: String) {
        store.forget(roomID)
        counts.forget(roomID)
        show()
        onGone(roomID)
        keepRooms()
    }
}
