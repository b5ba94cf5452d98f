import Foundation

// Rooms of which events did not say enough: asked for one by one, a moment later and together.
extension RoomList {
    /// So long a room's events are gathered: the second event of a pair, which may say the rest, comes within.
    private static let gathering: Duration = .milliseconds(100)
    /// Between two answers for a room that never rests, and the first wait after a failure.
    private static let pause: Duration = .seconds(1)
    private static let longestPause: Duration = .seconds(30)
    /// More than this many rooms are asked for with one request for all.
    private static let maxSingle = 8

    private enum Outcome: Sendable {
        case done
        case failed(ClientFailure)
    }

    func fetchNeeded() {
        guard fetching == nil, owesRefresh || !shelf.needs.isEmpty else { return }
        let isRetry = owesRefresh
        // A list that is no longer shown asks for nothing more.
        fetching = Task { [weak self, clock] in
            var wait = isRetry ? Self.pause : Self.gathering
            while true {
                // Only cancelling would end it early, and nobody cancels.
                try? await clock.sleep(for: wait)
                guard let next = await self?.fetchRound(after: wait) else { return }
                wait = next
            }
        }
    }

    /// - Returns: how long to wait for the next round; nil if there is nothing to ask.
    private func fetchRound(after wait: Duration) async -> Duration? {
        let ids = shelf.needs.keys.sorted()
        var failures: [ClientFailure] = []
        if owesRefresh || ids.count > Self.maxSingle {
            await refresh()
            if let failure { failures = [failure] }
        } else {
            await withTaskGroup(of: Outcome.self) { group in
                for id in ids { group.addTask { await self.fetch(id) } }
                for await case .failed(let failure) in group { failures.append(failure) }
            }
        }
        guard owesRefresh || !shelf.needs.isEmpty else {
            fetching = nil
            return nil
        }
        guard !failures.isEmpty else { return Self.pause }
        let asked = failures.compactMap { failure -> Duration? in
            if case .refused(let refusal) = failure { refusal.retryAfter } else { nil }
        }.max()
        return max(asked ?? .zero, min(max(wait * 2, Self.pause), Self.longestPause))
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
