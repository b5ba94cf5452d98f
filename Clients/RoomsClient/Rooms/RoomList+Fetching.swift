import Foundation

// Rooms of which events did not say enough: asked for one by one, a moment later and together.
extension RoomList {
    /// So long a room's events are gathered: the second event of a pair, which may say the rest, comes within.
    private static let gathering: Duration = .milliseconds(100)
    /// Between two answers for a room that never rests.
    private static let pause: Duration = .seconds(1)
    /// More than this many rooms are asked for with one request for all.
    private static let maxSingle = 8

    private enum Outcome: Sendable {
        case done
        /// There was no answer. With how long the server has asked to wait.
        case failed(Duration?)
    }

    private enum Round {
        /// There is nothing more to ask.
        case done
        case answered
        /// There was no answer. With the time that the server asked to wait.
        case failed(Duration?)
    }

    private var needsAnswer: Bool { needsRefresh || !store.needs.isEmpty || !store.missing.isEmpty }

    func fetchNeeded() {
        guard fetching == nil, needsAnswer else { return }
        let isRetry = needsRefresh
        // A list that is no longer shown asks for nothing more.
        fetching = Task { [weak self, clock, random] in
            var backoff = Backoff(from: Self.pause)
            var wait = isRetry ? backoff.next(random: random()) : Self.gathering
            while true {
                // Only cancelling would end it early, and nobody cancels.
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

    /// An answer lacks what these count: all rooms are asked for, later and later, until no part of the server that counts is
    /// down. Beside what else is asked for: that is answered by the other parts.
    func noteMissingFields(_ missingFields: Set<RoomFieldSource>) {
        guard !missingFields.isEmpty else { return }
        isMissingFields = true
        guard fetchingMissingFields == nil else { return }
        // A list that is no longer shown asks for nothing more.
        fetchingMissingFields = Task { [weak self, clock, random] in
            var backoff = Backoff(from: Self.pause)
            repeat {
                // Only cancelling would end it early, and nobody cancels.
                try? await clock.sleep(for: backoff.next(random: random()))
            } while await self?.isStillMissingFields() == true
        }
    }

    private func isStillMissingFields() async -> Bool {
        if isMissingFields { await refresh() }
        if !isMissingFields { fetchingMissingFields = nil }
        return isMissingFields
    }

    private func fetchRound() async -> Round {
        let needed = Set(store.needs.keys)
        var waits: [Duration?] = []
        if needsRefresh || needed.count > Self.maxSingle {
            // One that is under way may be all that is owed.
            if let running { await running.value } else { await refresh() }
            if let failure { waits = [failure.retryAfter] }
        } else {
            // An answer with all says nothing of those that it lacks.
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
    /// Converts the error of a call.
    init(_ error: any Error) { self = error as? ClientFailure ?? .offline("The call was ended.") }
}
