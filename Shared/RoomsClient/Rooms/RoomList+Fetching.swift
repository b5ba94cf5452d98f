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
        case failed(ClientFailure)
    }

    private enum Round {
        /// There is nothing more to ask.
        case done
        case answered
        /// With what the server has asked to wait.
        case failed(Duration?)
    }

    private var lacksAnswer: Bool { owesRefresh || !shelf.needs.isEmpty || !shelf.missing.isEmpty }

    func fetchNeeded() {
        guard fetching == nil, lacksAnswer else { return }
        let isRetry = owesRefresh
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

    private func fetchRound() async -> Round {
        let needed = Set(shelf.needs.keys)
        var failures: [ClientFailure] = []
        if owesRefresh || needed.count > Self.maxSingle {
            // One that is under way may be all that is owed.
            if let running { await running.value } else { await refresh() }
            if let failure { failures = [failure] }
        } else {
            // An answer with all says nothing of those that it lacks.
            let ids = needed.union(shelf.missing.sorted().prefix(Self.maxSingle))
            await withTaskGroup(of: Outcome.self) { group in
                for id in ids { group.addTask { await self.fetch(id) } }
                for await case .failed(let failure) in group { failures.append(failure) }
            }
        }
        guard lacksAnswer else {
            fetching = nil
            return .done
        }
        guard !failures.isEmpty else { return .answered }
        let asked = failures.compactMap { failure -> Duration? in
            if case .refused(let refusal) = failure { refusal.retryAfter } else { nil }
        }.max()
        return .failed(asked)
    }

    private func fetch(_ id: String) async -> Outcome {
        let load = shelf.beginLoad()
        do {
            take(try await server.room(id), load)
            return .done
        } catch {
            shelf.abandon(load)
            let failure = ClientFailure(error)
            if case .refused(let refusal) = failure, refusal.code == "room_not_found" {
                forget(id)
                return .done
            }
            guard failure.isRetryable else {
                shelf.forgetNeeds(of: id)
                return .done
            }
            return .failed(failure)
        }
    }
}

extension ClientFailure {
    /// What a call of a server threw.
    init(_ error: any Error) { self = error as? ClientFailure ?? .offline("The call was ended.") }
}
