import Foundation

// Creating and naming rooms.
extension RoomList {
    /// The arguments of a room's creation.
    struct PendingRoom: Hashable {
        let userID: String
        let name: String?
    }

    /// The request of a room's creation, and the time of the last attempt.
    struct Attempt {
        let requestID: String
        var askedAt: Date
    }

    /// The time in which a repeated creation means the same room. Later it means another one: the
    /// first has long been shown.
    private static let creationLifetime: TimeInterval = 5 * 60

    /// Creates a room. A second call with the same arguments while the first is in progress, or
    /// within five minutes after it got no answer, brings the same room.
    ///
    /// - Throws: `ClientFailure`.
    public func makeRoom(with userID: String, name: String? = nil) async throws -> Room {
        let pending = PendingRoom(userID: userID, name: name)
        let now = clock.now
        pendingCreations = pendingCreations.filter { now.timeIntervalSince($0.value.askedAt) <= Self.creationLifetime }
        var attempt = pendingCreations[pending] ?? Attempt(requestID: makeID(), askedAt: now)
        attempt.askedAt = now
        pendingCreations[pending] = attempt
        let load = store.beginLoad()
        do {
            let answer = try await server.makeRoom(with: userID, name: name, requestID: attempt.requestID)
            pendingCreations[pending] = nil
            // Its event may have arrived first, and later ones after it.
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
    /// - Throws: `ClientFailure`.
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
