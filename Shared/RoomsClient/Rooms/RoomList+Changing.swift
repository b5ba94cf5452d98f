// Rooms that one makes and names.
extension RoomList {
    /// A room that somebody asks for.
    struct Wish: Hashable {
        let userID: String
        let name: String?
    }

    /// Makes a room. Asked for again after no answer has come, or while it is on its way, the same brings the same room: there is
    /// one for each that was heard of.
    ///
    /// - Throws: `ClientFailure`.
    public func makeRoom(with userID: String, name: String? = nil) async throws -> Room {
        let wish = Wish(userID: userID, name: name)
        let requestID = unheard[wish] ?? makeID()
        unheard[wish] = requestID
        let load = shelf.beginLoad()
        do {
            let room = try await server.makeRoom(with: userID, name: name, requestID: requestID)
            unheard[wish] = nil
            // Its event may have come first, and others after it.
            guard let known = shelf[room.id] else {
                take(room, load, isChange: true)
                return room
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
