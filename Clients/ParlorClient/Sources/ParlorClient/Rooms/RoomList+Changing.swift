import Foundation

extension RoomList {
    /// The arguments of a call that creates a room.
    struct PendingRoom: Hashable {
        let userID: String
        let name: String?
    }

    /// The request id for the creation of a room, and the time of the last attempt.
    struct Attempt {
        let requestID: String
        var askedAt: Date
    }

    /// The time within which a repeated creation means the same room. Later the first room has long been shown, so the
    /// person means another one.
    private static let creationLifetime: TimeInterval = 5 * 60

    /// Creates a room. While the call is in progress, and for five minutes if its answer was lost, a call with the same
    /// arguments returns the same room.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`.
    public func makeRoom(with userID: String, name: String? = nil) async throws -> Room {
        let pending = PendingRoom(userID: userID, name: name)
        let now = clock.now
        // `abs`: the clock may have been set back.
        pendingCreations = pendingCreations.filter { attempt in
            abs(now.timeIntervalSince(attempt.value.askedAt)) <= Self.creationLifetime
        }
        var attempt = pendingCreations[pending] ?? Attempt(requestID: makeID(), askedAt: now)
        attempt.askedAt = now
        pendingCreations[pending] = attempt
        let load = store.beginLoad()
        do {
            let answer = try await server.makeRoom(with: userID, name: name, requestID: attempt.requestID)
            pendingCreations[pending] = nil
            // The room's event may have arrived first, and later events may have changed the room since.
            guard let known = store[answer.room.id] else {
                take(answer, load, isChange: true)
                return answer.room
            }
            store.abandon(load)
            return known
        } catch {
            store.abandon(load)
            // A final refusal means that no room was created.
            if case .refused(let refusal) = ClientFailure(error), !refusal.isRetryable {
                pendingCreations[pending] = nil
            }
            throw error
        }
    }

    /// Renames a room. An empty name removes the name.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`.
    public func rename(_ roomID: String, to name: String) async throws {
        let load = store.beginLoad()
        do {
            take(try await server.rename(roomID, to: name), load, isChange: true)
        } catch {
            store.abandon(load)
            throw error
        }
    }
}
