import Foundation

extension RoomsSocket {
    public var isConnected: Bool { link != nil }

    /// Sends an event, and waits for its ack.
    ///
    /// - Returns: the ack's object.
    /// - Throws: `ClientFailure.refused`; `ClientFailure.offline` at once if there is no connection, or if it ends, or no ack comes
    ///   in time: then what was asked may have been done.
    public func emit(
        _ event: String, _ payload: JSON, timeout: Duration = RoomsSocket.ackTimeout
    ) async throws -> Data {
        guard let link else { throw ClientFailure.offline("not connected") }
        return try await link.ask(event, payload, timeout: timeout)
    }

    /// Sends an event that wants no answer; a refusal comes as `RoomEvent.requestFailed`. Without a connection it is dropped.
    public func send(_ event: String, _ payload: JSON) async {
        // A connection that is over says so to who reads it.
        try? await link?.send(event, payload)
    }

    // MARK: - Rooms

    /// Opens a room: its events come from now on, at every connection, until it is left.
    ///
    /// - Parameter keepingOthers: else every other room is left.
    /// - Throws: `ClientFailure.refused`. If that is retryable, or the failure is `offline`, the room will still be joined, as soon
    ///   as can be.
    public func join(_ roomID: String, keepingOthers: Bool = false) async throws -> Room {
        rooms.want(roomID, keepingOthers: keepingOthers)
        guard let link else { throw ClientFailure.offline("not connected") }
        return try await join(roomID, keepingOthers: keepingOthers, over: link)
    }

    /// Succeeds without a connection: the room is not joined again.
    public func leave(_ roomID: String) async throws {
        rooms.drop(roomID)
        guard isConnected else { return }
        _ = try await emit("room:leave", ["roomId": .string(roomID)])
    }

    /// Joins what is wanted and not joined yet, one after the other.
    func joinRooms(over link: SocketLink) {
        guard joiner == nil, rooms.next != nil else { return }
        joiner = Task { [clock, random] in
            var backoff = Backoff()
            while !Task.isCancelled, link === self.link, let roomID = rooms.next {
                do {
                    _ = try await join(roomID, keepingOthers: true, over: link)
                    backoff.reset()
                } catch let failure as ClientFailure where failure.isRetryable {
                    // The service behind is away, or there were too many joins; a connection that is over ends this task.
                    guard (try? await clock.sleep(for: backoff.next(random: random()))) != nil else { return }
                } catch {
                    // Refused for good, and not wanted any more.
                }
            }
            if link === self.link { joiner = nil }
        }
    }

    private func join(_ roomID: String, keepingOthers: Bool, over link: SocketLink) async throws -> Room {
        let payload: JSON = ["roomId": .string(roomID), "keepOthers": .bool(keepingOthers)]
        let data: Data
        do {
            data = try await link.ask("room:join", payload, timeout: Self.ackTimeout)
        } catch let failure as ClientFailure where !failure.isRetryable {
            rooms.drop(roomID)
            throw failure
        } catch {
            if link === self.link { joinRooms(over: link) }
            throw error
        }
        if link === self.link, rooms.wants(roomID) { rooms.noteJoined(roomID, keepingOthers: keepingOthers) }
        return try ServerDecoder().decode(JoinAck.self, from: data).room
    }

    private struct JoinAck: Decodable {
        let room: Room
    }
}
