import Foundation

// Rooms whose events lacked data are fetched one by one, after a short pause: one request serves many events.
extension RoomList {
    /// The time for which events are collected. The second event of a pair may bring the missing data.
    private static let gathering: Duration = .milliseconds(100)
    /// The pause between two requests for a room that changes constantly.
    private static let pause: Duration = .seconds(1)
    /// The maximum number of rooms to fetch one by one. For more, one request fetches all rooms.
    private static let maxSingle = 8

    /// The longest pause while only services that were added to the server are missing. If such a service stays down,
    /// clients must not fetch all rooms a few times a minute.
    private static let longestPauseForOthers: Duration = .seconds(300)

    private enum Outcome: Sendable {
        case done
        /// The fetch failed. The time is the server's `Retry-After`.
        case failed(Duration?)
    }

    private enum Round {
        case done
        case answered
        /// The fetch failed. The time is the server's `Retry-After`.
        case failed(Duration?)
    }

    private var needsAnswer: Bool { needsRefresh || !store.needs.isEmpty || !store.missing.isEmpty }

    /// Starts a task that fetches what the list lacks, until it lacks nothing. Does nothing if such a task is running.
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
        if missingFields == [.others], !store.rooms.contains(where: \.hasOtherFields) { missingFields = [] }
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

    private func fetchRound() async -> Round {
        let needed = Set(store.needs.keys)
        var waits: [Duration?] = []
        if needsRefresh || needed.count > Self.maxSingle {
            // A request for all rooms that is in progress may bring everything.
            if let running { await running.value } else { await refresh() }
            if let failure { waits = [failure.retryAfter] }
        } else {
            // Missing rooms are always fetched one by one: a list without a room does not prove that the room is gone.
            let ids = needed.union(store.missing.sorted().prefix(Self.maxSingle))
            await withTaskGroup(of: Outcome.self) { group in
                for id in ids { group.addTask { await self.fetch(id) } }
                for await case .failed(let wait) in group { waits.append(wait) }
            }
        }
        guard needsAnswer else {
            fetching = nil
            return .done
        }
        return waits.isEmpty ? .answered : .failed(waits.compactMap(\.self).max())
    }

    private func fetch(_ id: String) async -> Outcome {
        let load = store.beginLoad()
        do {
            let answer = try await server.room(id)
            take(answer, load)
            return .done
        } catch {
            store.abandon(load)
            let failure = ClientFailure(error)
            if case .refused(let refusal) = failure, refusal.code == "room_not_found" {
                forget(id)
                return .done
            }
            guard failure.isRetryable else {
                store.forgetNeeds(of: id)
                return .done
            }
            return .failed(failure.retryAfter)
        }
    }
}

extension ClientFailure {
    /// Converts the error of a call. An error that is not a `ClientFailure`, such as a cancellation, counts as
    /// `offline`.
    init(_ error: any Error) { self = error as? ClientFailure ?? .offline("The call was cancelled.") }
}
