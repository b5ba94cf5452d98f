import Foundation
import Observation

/// Fetches rooms: all of them, one request at a time, and single ones whose events lacked data. It goes on until nothing
/// is lacking.
@MainActor
@Observable
final class RoomsFetching {
    /// What the list does with the answers.
    struct Calls {
        /// Runs before a request for all rooms.
        var prepare: @MainActor () async -> Void
        /// Fetches all rooms, and returns the fields that the answer lacks.
        var loadAll: @MainActor () async throws -> Set<RoomFieldSource>
        /// Fetches one room.
        var loadOne: @MainActor (_ roomID: String) async throws -> Void
    }

    /// True while all rooms are being fetched.
    private(set) var isLoading = false
    /// The failure of the last fetch of all rooms; nil if it succeeded.
    private(set) var failure: ClientFailure?

    @ObservationIgnored var calls: Calls?
    /// The task that fetches what events lacked.
    @ObservationIgnored private var fetching: Task<Void, Never>?
    /// The fields that the last answer lacked, because services were unavailable.
    @ObservationIgnored private var missingFields: Set<RoomFieldSource> = []
    /// The task that fetches all rooms until these fields are there.
    @ObservationIgnored private var fetchingMissingFields: Task<Void, Never>?
    /// The request for all rooms that is in progress.
    @ObservationIgnored private(set) var running: Task<Void, Never>?
    /// The request for all rooms that follows it.
    @ObservationIgnored private var queued: Task<Void, Never>?
    /// Counts the reasons to fetch all rooms.
    @ObservationIgnored private var pendingLoads = 1
    /// The value of `pendingLoads` at the start of the last such request that was answered.
    @ObservationIgnored private var settled = 0
    @ObservationIgnored private let shown: ShownRooms
    @ObservationIgnored private let clock: any ClientClock
    @ObservationIgnored private let random: @Sendable () -> Double

    /// The time for which events are collected. The second event of a pair may bring the missing data.
    private static let gathering: Duration = .milliseconds(100)
    /// The pause between two requests for a room that changes constantly.
    private static let pause: Duration = .seconds(1)
    /// The maximum number of rooms to fetch one by one. For more, one request fetches all rooms.
    private static let maxSingle = 8
    /// The longest pause while only services that were added to the server are missing. If such a service stays down,
    /// clients must not fetch all rooms a few times a minute.
    private static let longestPauseForOthers: Duration = .seconds(300)

    init(_ shown: ShownRooms, clock: any ClientClock, random: @escaping @Sendable () -> Double) {
        self.shown = shown
        self.clock = clock
        self.random = random
    }

    // MARK: All rooms

    /// True if all rooms have to be fetched. The request is then repeated until the server answers.
    var needsRefresh: Bool { pendingLoads > settled }

    /// Notes that all rooms have to be fetched.
    func requireRefresh() {
        pendingLoads += 1
        Task { await refresh() }
    }

    /// Starts a request for all rooms, unless one is in progress.
    func begin() {
        guard running == nil else { return }
        running = Task { await load() }
    }

    /// Fetches all rooms, and returns when a request that was made after this call has ended. Concurrent calls share
    /// one request.
    func refresh() async {
        if let queued { return await queued.value }
        guard let current = running else {
            begin()
            await running?.value
            return
        }
        let next = Task {
            await current.value
            (running, queued) = (queued, nil)
            await load()
        }
        queued = next
        await next.value
    }

    private func load() async {
        isLoading = true
        await calls?.prepare()
        let pending = pendingLoads
        do {
            let missingFields = try await calls?.loadAll() ?? []
            (failure, settled) = (nil, pending)
            fetchNeeded()
            noteMissingFields(missingFields, isOfAll: true)
        } catch {
            let reason = ClientFailure(error)
            failure = reason
            if !reason.isRetryable { settled = pending }
            fetchNeeded()
        }
        isLoading = false
        running = nil
    }

    // MARK: Fields of services that were unavailable

    /// Notes that an answer lacked fields. All rooms are then fetched, with growing pauses, until an answer is
    /// complete. Other requests continue, because the other services still answer.
    ///
    /// If only plugins are missing, and no room has fields of them, nothing is fetched.
    ///
    /// - Parameters:
    ///   - fields: the missing fields; none if the answer is complete.
    ///   - isOfAll: true for an answer with all rooms, false for one with a single room.
    func noteMissingFields(_ fields: Set<RoomFieldSource>, isOfAll: Bool = false) {
        let before = missingFields
        missingFields = isOfAll ? fields : before.union(fields)
        if missingFields == [.others], !shown.store.rooms.contains(where: \.hasOtherFields) { missingFields = [] }
        guard !missingFields.isEmpty else { return }
        // A pause for plugins alone may be long, so it is replaced when other fields are missing, too.
        if fetchingMissingFields == nil || before == [.others] && missingFields != [.others] { fetchMissingFields() }
    }

    private func fetchMissingFields() {
        fetchingMissingFields?.cancel()
        // `weak`: a list that is no longer shown fetches nothing.
        fetchingMissingFields = Task { [weak self, clock, random] in
            var backoff = Backoff(from: Self.pause)
            var backoffForOthers = Backoff(from: Self.pause, upTo: Self.longestPauseForOthers)
            repeat {
                let asked = self?.failure?.retryAfter
                let wait =
                    self?.missingFields == [.others]
                    ? backoffForOthers.next(random: random(), atLeast: asked)
                    : backoff.next(random: random(), atLeast: asked)
                // If this task is cancelled, another one replaces it.
                do { try await clock.sleep(for: wait) } catch { return }
            } while await self?.isStillMissingFields() == true
        }
    }

    private func isStillMissingFields() async -> Bool {
        if !missingFields.isEmpty { await refresh() }
        guard !Task.isCancelled else { return false }
        if missingFields.isEmpty { fetchingMissingFields = nil }
        return !missingFields.isEmpty
    }

    // MARK: What events lacked

    private enum Round {
        case done
        case answered
        /// The fetch failed. The time is the server's `Retry-After`.
        case failed(Duration?)
    }

    private var needsAnswer: Bool { needsRefresh || !shown.store.needs.isEmpty || !shown.store.missing.isEmpty }

    /// Starts a task that fetches what the list lacks, until it lacks nothing. Does nothing if such a task is running.
    ///
    /// Rooms whose events lacked data are fetched one by one, after a short pause: one request serves many events.
    func fetchNeeded() {
        guard fetching == nil, needsAnswer else { return }
        let isRetry = needsRefresh
        // `weak`: a list that is no longer shown fetches nothing.
        fetching = Task { [weak self, clock, random] in
            var backoff = Backoff(from: Self.pause)
            var wait = isRetry ? backoff.next(random: random()) : Self.gathering
            while true {
                // Only a cancellation would end the sleep early, and nothing cancels it.
                try? await clock.sleep(for: wait)
                switch await self?.fetchRound() {
                case .done, nil: return
                case .answered:
                    backoff.reset()
                    wait = Self.pause
                case .failed(let asked): wait = backoff.next(random: random(), atLeast: asked)
                }
            }
        }
    }

    private func fetchRound() async -> Round {
        let needed = Set(shown.store.needs.keys)
        var failures: [ClientFailure] = []
        if needsRefresh || needed.count > Self.maxSingle {
            // A request for all rooms that is in progress may bring everything.
            if let running { await running.value } else { await refresh() }
            if let failure { failures = [failure] }
        } else {
            // Missing rooms are always fetched one by one: a list without a room does not prove that the room is gone.
            let ids = needed.union(shown.store.missing.sorted().prefix(Self.maxSingle))
            await withTaskGroup(of: ClientFailure?.self) { group in
                for id in ids { group.addTask { await self.fetch(id) } }
                for await case let failure? in group { failures.append(failure) }
            }
        }
        guard needsAnswer else {
            fetching = nil
            return .done
        }
        return failures.isEmpty ? .answered : .failed(failures.compactMap(\.retryAfter).max())
    }

    /// - Returns: the failure, if the room has to be fetched again.
    private func fetch(_ id: String) async -> ClientFailure? {
        do {
            try await calls?.loadOne(id)
            return nil
        } catch {
            let failure = ClientFailure(error)
            if !failure.isRetryable { shown.store.forgetNeeds(of: id) }
            return failure.isRetryable ? failure : nil
        }
    }
}

extension ClientFailure {
    /// Converts the error of a call. An error that is not a `ClientFailure`, such as a cancellation, counts as
    /// `offline`.
    init(_ error: any Error) { self = error as? ClientFailure ?? .offline("The call was cancelled.") }
}
