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

    /// The rooms in the ``order``, latest first.
    public var rooms: [Room] { shown.rooms }
    /// The people who share direct rooms with the person, latest activity first. Each has these rooms, sorted as by
    /// ``RoomOrder/content``. Groups are in ``rooms`` alone.
    public var people: [PersonWithRooms] { shown.people }
    /// True while all rooms are being fetched.
    public var isLoading: Bool { fetching.isLoading }
    /// True once the server has sent all rooms. Until then the rooms are cached ones, and an empty list may be
    /// wrong.
    public private(set) var isLoaded = false
    /// The failure of the last fetch of all rooms; nil if it succeeded.
    public var failure: ClientFailure? { fetching.failure }
    /// The ids of the rooms in which a message of the person has failed: the server refused it, or the device's disk
    /// did not store or delete it. It stays failed until the person retries or discards it in the room.
    ///
    /// Empty until the stored messages have been read, and in a list without a ``RoomsClient``. A room may be here that
    /// is not in the list.
    public private(set) var failedRoomIDs: Set<Room.ID> = []
    /// The counts that the rooms' rows show.
    public var counts: RoomCountManager { shown.counts }
    /// The people with whom the person shares no room yet.
    public let peopleWithoutRooms: PeopleWithoutRooms
    /// The changes of groups.
    public var groups: Groups { Groups(list: self, server: server) }

    /// The sort order of the rooms. A change is shown at once.
    public var order: RoomOrder {
        get { shown.order }
        set { shown.order = newValue }
    }

    /// The room with this id; nil if it is not in the list.
    public subscript(roomID: String) -> Room? { shown[roomID] }

    /// Called with the id of a room that is not the person's any more, and the reason.
    @ObservationIgnored var onGone: @MainActor (String, ClientFailure) -> Void = { _, _ in }
    @ObservationIgnored let fetching: RoomsFetching
    @ObservationIgnored let keeper: RoomListKeeper
    @ObservationIgnored let shown: ShownRooms
    @ObservationIgnored private let server: any RoomServer
    @ObservationIgnored private let clock: any ClientClock
    @ObservationIgnored private let cache: RoomListCache?
    @ObservationIgnored private let makeID: () -> String
    /// The version of ``failedRoomIDs``.
    @ObservationIgnored private var failedVersion = 0
    @ObservationIgnored private var creations = RoomCreations()
    @ObservationIgnored private var doubts = BadgeDoubts()
    /// The time of the last answer with all rooms.
    @ObservationIgnored private var loadedAt: Date?
    /// True if the socket is connected but has not finished its replay.
    @ObservationIgnored private var isCatchingUp = false
    /// The rooms that are being left. The value is true if an element was created there meanwhile.
    @ObservationIgnored private var leaving: [String: Bool] = [:]
    /// The rooms that a screen shows, with or without their boards.
    @ObservationIgnored private var entered: Set<String> = []

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
        shown = ShownRooms(RoomStore(for: userID, order: order), clock: clock)
        fetching = RoomsFetching(shown, clock: clock, random: random)
        peopleWithoutRooms = PeopleWithoutRooms(from: server, clock: clock, random: random)
        self.server = server
        self.clock = clock
        self.makeID = makeID
        self.cache = cache
        keeper = RoomListKeeper(cache)
        shown.onMembership = { [peopleWithoutRooms] rooms in
            peopleWithoutRooms.leaveOut(Set(rooms.flatMap { $0.participants.map(\.userID) }))
        }
        fetching.calls = RoomsFetching.Calls(
            prepare: { [weak self] in await self?.showKept() },
            loadAll: { [weak self] in try await self?.loadAll() ?? [] },
            loadOne: { [weak self] in try await self?.loadOne($0) })
    }

    func take(_ failed: FailedRooms) {
        guard failed.version > failedVersion else { return }
        (failedRoomIDs, failedVersion) = (failed.ids, failed.version)
    }

    // MARK: Loading

    /// Shows the cached rooms and fetches all rooms, unless they were already fetched or are being fetched.
    ///
    /// It does not wait for the socket, which may never connect. Returns at once.
    public func loadFirst() { if !isLoaded { fetching.begin() } }

    /// Fetches all rooms, and returns when a request that was made after this call has ended. Concurrent calls share
    /// one request. If it fails, ``failure`` is set.
    public func refresh() async { await fetching.refresh() }

    /// Fetches all rooms again if the list is older than ``freshness``. Call it when the app comes to the foreground;
    /// ``RoomsClient/enterForeground()`` does so.
    package func becomeActive() async {
        if let running = fetching.running { return await running.value }
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
        guard shown.store.touch(roomID, now: clock.now) else { return }
        shown.store.need(.answer, of: roomID)
        fetching.fetchNeeded()
    }

    /// Fetches a room, because the answer to another request said that the server does not know it any more. If the
    /// server confirms that, the room is forgotten.
    func check(_ roomID: String) {
        shown.store.check(roomID, now: clock.now)
        fetching.fetchNeeded()
    }

    /// Has the open rooms fetched of which only the first people are known. Joining a room brings all, but a list that
    /// comes after it may have others.
    private func fetchPeople() {
        for id in entered where shown.store[id]?.hasAllParticipants == false { shown.store.need(.answer, of: id) }
    }

    private func loadAll() async throws -> Set<RoomFieldSource> {
        let load = shown.store.beginLoad()
        do {
            let answer = try await server.rooms(sortedBy: order)
            let missingFields = RoomFieldSource.named(in: answer.degraded)
            let overtaken = shown.store.finish(load, with: answer.rooms, missingFields: missingFields, now: clock.now)
            // Without those that were removed since the request.
            let rooms = answer.rooms.filter { shown.store.sorted.contains($0.id) }
            counts.load(rooms, keeping: overtaken, degraded: answer.degraded)
            fetchPeople()
            shown.noteCounts(of: rooms.map(\.id))
            (isLoaded, loadedAt) = (true, clock.now)
            shown.show()
            keepRooms()
            return missingFields
        } catch {
            shown.store.abandon(load)
            throw error
        }
    }

    private func loadOne(_ id: String) async throws {
        let load = shown.store.beginLoad()
        do {
            take(try await server.room(id), load)
        } catch {
            shown.store.abandon(load)
            guard ClientFailure(error).isRoomGone else { throw error }
            forget(id, because: .roomGone)
        }
    }

    // MARK: Changes by the person

    /// Creates a direct room. While the call is in progress, and for five minutes if its answer was lost, a call with the
    /// same arguments returns the same room.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`.
    public func makeRoom(with userID: String, name: String? = nil) async throws -> Room {
        try await make(.init(userIDs: [userID], kind: .direct, name: name)) { [server] requestID in
            try await server.makeRoom(with: userID, name: name, requestID: requestID)
        }
    }

    func make(
        _ arguments: RoomCreations.Arguments, _ call: (_ requestID: String) async throws -> RoomAnswer
    ) async throws -> Room {
        let requestID = creations.begin(arguments, at: clock.now, id: makeID())
        let load = shown.store.beginLoad()
        do {
            let answer = try await call(requestID)
            creations.end(arguments)
            // The room's event may have arrived first, and later events may have changed the room since.
            guard let known = shown.store[answer.room.id] else {
                take(answer, load, isChange: true)
                return answer.room
            }
            shown.store.abandon(load)
            return known
        } catch {
            shown.store.abandon(load)
            // A final refusal means that no room was created.
            if case .refused(let refusal) = ClientFailure(error), !refusal.isRetryable { creations.end(arguments) }
            throw error
        }
    }

    /// Renames a room. An empty name removes the name.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`.
    public func rename(_ roomID: String, to name: String) async throws {
        try await change { [server] in try await server.rename(roomID, to: name) }
    }

    /// Makes a call that changes a room, and applies its answer.
    func change(_ call: () async throws -> RoomAnswer) async throws {
        let load = shown.store.beginLoad()
        do {
            take(try await call(), load, isChange: true)
        } catch {
            shown.store.abandon(load)
            throw error
        }
    }

    /// Notes that a call has removed somebody else from a group.
    func noteLeaving(of personID: String, in roomID: String) {
        guard shown.store.applyLeaving(personID, roomID, at: nil, clock.now) != nil else { return }
        shown.show()
        fetching.fetchNeeded()
    }

    /// Notes that the person has opened the room, and marks its elements as seen.
    package func enter(_ roomID: String) {
        entered.insert(roomID)
        leaving[roomID] = nil
        counts.enter(roomID)
        shown.noteCounts(of: [roomID])
        shown.show()
    }

    /// Notes whether the end of a room's messages is on the screen, and which unread ones are.
    func noteEnd(_ unread: Set<String>?, of roomID: String) {
        counts.noteEnd(unread, of: roomID)
        shown.showSoon(roomID)
    }

    /// Notes that counts of a room have changed.
    func noteCounts(of roomID: String) { shown.showSoon(roomID) }

    /// Notes that a screen shows the room's messages, but not its board. From now on the room's presence is followed.
    func enterChat(_ roomID: String) { entered.insert(roomID) }

    /// Call this before the room is joined on the server without its board. The board counts as open until
    /// ``leave(_:)``.
    func beginLeavingBoard(of roomID: String) { leaving[roomID] = false }

    /// Call this before the room is left on the server. Its board counts as open until ``leave(_:)``.
    package func beginLeaving(_ roomID: String) {
        entered.remove(roomID)
        leaving[roomID] = false
        shown.store.forgetPresence(in: roomID)
        shown.show()
    }

    /// Call this after the room was left on the server. Later elements of others are unseen.
    package func leave(_ roomID: String) {
        let mayBeUnseen = counts.leave(roomID)
        // Only the server knows whether the room was left when an element was created.
        let isNewElement = leaving.removeValue(forKey: roomID) == true
        let isDoubtful = doubts.leave(roomID)
        guard mayBeUnseen || isNewElement || isDoubtful, shown.store.sorted.contains(roomID) else { return }
        shown.store.need(.answer, of: roomID)
        fetching.fetchNeeded()
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
            // Without waiting for `sync:done`, which may take a while.
            if failure != nil { Task { await refresh() } } else { loadFirst() }
        case .joined(let room):
            guard entered.contains(room.id) else { return }
            shown.store.takePeople(of: room, now: clock.now)
            for person in room.participants {
                shown.store.notePresence(person.isPresent, of: person.userID, in: room.id, isAnswer: true)
            }
            shown.showSoon(room.id)
            if !isCatchingUp { fetching.fetchNeeded() }
        case .recovered:
            endCatchingUp()
            fetching.requireRefresh()
        case .disconnected:
            endCatchingUp()
            counts.noteAbsence()
            shown.store.forgetPresence()
            shown.show()
        }
    }

    /// Applies an event.
    package func apply(_ event: RoomEvent) {
        if case .presence(let roomID, let userID, let isPresent) = event {
            guard entered.contains(roomID) else { return }
            shown.store.notePresence(isPresent, of: userID, in: roomID)
            return shown.showSoon(roomID)
        }
        // A replayed event may have been applied before, and old badges would undo later ones.
        var isOld = isCatchingUp && event.isRepeated
        if case .roomRemoved(let roomID, let removedBy) = event {
            // The person may have been added again since.
            if isOld { return shown.store.check(roomID, now: clock.now) }
            return forget(roomID, because: removedBy == nil ? .left : .removed)
        }
        // Each receipt counts once, so a repetition changes nothing.
        if case .messagesRead = event { isOld = false }
        let isDoubtful = !isOld && doubts.note(event, counts, shown.store, shown: entered, now: clock.now)
        let isIncomplete = !isOld && counts.apply(event) || isDoubtful
        guard let roomID = shown.store.apply(event, now: clock.now) else { return }
        fetchPeople()
        if isIncomplete { shown.store.need(.answer, of: roomID) }
        if leaving[roomID] != nil, event.isOfNewElement { leaving[roomID] = true }
        if isOld {
            if counts.latest(of: roomID) == nil { counts.apply(event) }
            shown.store.need(.answer, of: roomID)
        }
        shown.showSoon(roomID)
        if case .roomCreated = event, isLoaded { keepRooms() }
        if !isOld { fetching.fetchNeeded() }
    }

    private func endCatchingUp() {
        isCatchingUp = false
        // The `:global` events that belong to replayed events will not come: they are never replayed.
        shown.store.describedAt = [:]
    }

    // MARK: Answers

    /// Applies an answer with one room.
    ///
    /// - Parameter isChange: true if the call created or changed the room.
    private func take(_ answer: RoomAnswer, _ load: RoomLoads.Load, isChange: Bool = false) {
        let room = answer.room
        let missingFields = RoomFieldSource.named(in: answer.degraded)
        let isNew = shown.store.finish(
            load, with: room, missingFields: missingFields, isChange: isChange, now: clock.now)
        guard shown.store.sorted.contains(room.id) else { return fetching.fetchNeeded() }
        if isNew || counts.latest(of: room.id) == nil { counts.load(room, degraded: answer.degraded) }
        shown.noteCounts(of: [room.id])
        shown.show()
        keepRooms()
        fetching.fetchNeeded()
        fetching.noteMissingFields(missingFields)
    }

    /// Removes a room that is no longer the person's.
    ///
    /// - Parameter reason: the failure that the room's screens show.
    func forget(_ roomID: String, because reason: ClientFailure) {
        shown.store.forget(roomID)
        counts.forget(roomID)
        shown.show()
        onGone(roomID, reason)
        keepRooms()
    }

    // MARK: The cache

    /// Shows the cached rooms, unless the list already has rooms.
    func showKept() async {
        guard let cache, !isLoaded, rooms.isEmpty else { return }
        let kept = await cache.rooms()
        guard !isLoaded, rooms.isEmpty, !kept.isEmpty else { return }
        let load = shown.store.beginLoad()
        _ = shown.store.finish(load, with: kept, now: clock.now)
        counts.load(kept)
        shown.show()
    }

    /// Writes the rooms to the cache, with what events have changed since the last answer. Returns when that is done.
    func keepAll() async {
        // The cache may still have rooms that were never shown here.
        guard isLoaded else { return }
        shown.show()
        keepRooms()
        await keeper.finish()
    }

    /// Starts to write the rooms to the cache. It is called after each answer, so that a removed room is also removed
    /// from the disk, and after the event of a new room.
    private func keepRooms() { keeper.write { self.rooms } }
}
