import Foundation

// Rooms that one makes and names.
extension RoomList {
    /// A room that somebody asks for.
    struct Wish: Hashable {
        let userID: String
        let name: String?
    }

    /// What a wish was asked for with, and when last.
    struct Asking {
        let requestID: String
        var askedAt: Date
    }

    /// So long somebody who has heard of no answer wants the same room, and later another: that one has long been shown.
    private static let wishLife: TimeInterval = 5 * 60

    /// Makes a room. Asked for again while it is on its way, or within five minutes after no answer has come, the same brings the
    /// same room: there is one for each that was heard of.
    ///
    /// - Throws: `ClientFailure`.
    public func makeRoom(with userID: String, name: String? = nil) async throws -> Room {
        let wish = Wish(userID: userID, name: name)
        let now = clock.now
        unheard = unheard.filter { now.timeIntervalSince($0.value.askedAt) <= Self.wishLife }
        var asking = unheard[wish] ?? Asking(requestID: makeID(), askedAt: now)
        asking.askedAt = now
        unheard[wish] = asking
        let load = shelf.beginLoad()
        do {
            let answer = try await server.makeRoom(with: userID, name: name, requestID: asking.requestID)
            unheard[wish] = nil
            // Its event may have come first, and others after it.
            guard let known = shelf[answer.room.id] else {
                take(answer, load, isChange: true)
                return answer.room
            }
            shelf.abandon(load)
            return known
        } catch {
            shelf.abandon(load)
            // What was refused for good was not made.
            if case .refused(let refusal) = ClientFailure(error), !refusal.isRetryable { unheard[wish] = nil }
            throw error
        }
    }

    /// An empty name takes it away.
    ///
    /// - Throws: `ClientFailure`.
    public func rename(_ roomID: String, to name: String) async throws {
        let load = shelf.beginLoad()
        do {
            take(try await server.rename(roomID, to: name), load, isChange: true)
        } catch {
            shelf.abandon(load)
            throw error
        }
    }
}
