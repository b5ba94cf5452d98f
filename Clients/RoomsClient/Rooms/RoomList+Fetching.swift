import Foundation

// Requests for rooms whose events lacked data: one by one, a moment later, and once for many
// events.
extension RoomList {
    /// The time for which a room's events are gathered: the second event of a pair, which may have
    /// the missing data, arrives within it.
    private static let gathering: Duration = .milliseconds(100)
    /// The pause between two requests for a room that changes all the time.
    private static let pause: Duration = .seconds(1)
    /// The highest number of rooms that are requested one by one; for more, one request brings all
    /// rooms.
    private static let maxSingle = 8

    private enum Outcome: Sendable {
        case done
        /// There was no answer. The time is the one that the server asked to wait.
        case failed(Duration?)
    }

    private enum Round {
        /// There is nothing more to request.
        case done
        case answered
        /// There was no answer. With the time that the server asked to wait.
        case failed(Duration?)
    }

    private var needsAnswer: Bool { needsRefresh || !store.needs.isEmpty || !store.missing.isEmpty }

    func fetchNeeded() {
        guard fetching == nil, needsAnswer else { return }
        let isRetry = needsRefresh
        // A list that is no longer shown requests nothing.
        fetching = Task { [weak self, clock, random] in
            var backoff = Backoff(from: Self.pause)
            var wait = isRetry ? backoff.next(random: random()) : Self.gathering
            while true {
                // Only cancelling would end the sleep early, and nothing cancels it.
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

    /// Handles an answer without these fields: all rooms are requested, later and later, until
    /// every part of the server that counts is back. Other requests continue, as the other parts
    /// answer them.
    func noteMissingFields(_ missingFields: Set<RoomFieldSource>) {
        guard !missingFields.isEmpty else { return }
        isMissingFields = true
        guard fetchingMissingFields == nil else { return }
        // A list that is no longer shown requests nothing.
        fetchingMissingFields = Task { [weak self, clock, random] in
            var backoff = Backoff(from: Self.pause)
            repeat {
                // Only cancelling would end the sleep early, and nothing cancels it.
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
            // A request under way may settle all of them.
            if let running { await running.value } else { await refresh() }
            if let failure { waits = [failure.retryAfter] }
        } else {
            // An answer with all rooms says nothing about missing ones.
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
