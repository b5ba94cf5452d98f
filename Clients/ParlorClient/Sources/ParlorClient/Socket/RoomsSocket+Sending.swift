import Foundation

extension RoomsSocket {
    /// True while the server has accepted the connection.
    public var isConnected: Bool { link != nil }

    /// Sends an event, and waits for its ack.
    ///
    /// Nothing is repeated or kept: without a connection the call fails at once.
    ///
    /// - Parameter timeout: the time limit for the ack.
    /// - Returns: the ack's object as JSON.
    /// - Throws: `ClientFailure.refused` if the server refuses the event. `ClientFailure.offline` if there is no
    ///   connection, if it ends, or if no ack arrives in time. In the last two of these cases the server may have
    ///   acted. `CancellationError` if the task is cancelled; the event was sent.
    public func emit(
        _ event: String, _ payload: JSON, timeout: Duration = RoomsSocket.ackTimeout
    ) async throws -> Data {
        guard let link else { throw ClientFailure.offline("not connected") }
        return try await link.ask(event, payload, timeout: timeout)
    }

    /// Sends an event of any service, also of one that was added to the server, and decodes its ack.
    ///
    /// Events are sent in the order of the calls, and requests about one room reach a service in that order.
    /// Nothing is repeated or kept: without a connection the call fails at once. The server sends the events that
    /// a request causes before its ack, but they may be delivered after this returns.
    ///
    /// - Parameters:
    ///   - payload: must encode as a JSON object; a ``JSON`` value is sent as it is.
    ///   - type: the type of the ack's object, which has the service's members beside `success`. It may be ``JSON``.
    ///   - timeout: the time limit for the ack.
    /// - Throws: `ClientFailure.refused` with the service's own code, or with `malformed_request` if no service has
    ///   the event. `ClientFailure.offline` if there is no connection, if it ends, or if no ack arrives in time. In
    ///   the last two of these cases the server may have acted. `ClientFailure.unreadable` if the payload cannot be
    ///   encoded, before anything is sent; or if the ack has another form, after the server has acted.
    ///   `CancellationError` if the task is cancelled; the event was sent.
    public func emit<Ack: Decodable & Sendable>(
        _ event: String, _ payload: some Encodable & Sendable, as type: Ack.Type,
        timeout: Duration = RoomsSocket.ackTimeout
    ) async throws -> Ack {
        try ServerDecoder().decode(type, from: try await emit(event, try JSON(encoding: payload), timeout: timeout))
    }

    /// Sends an event without an ack. A refusal arrives as ``RoomEvent/requestFailed(event:_:)``. Without a
    /// connection the event is dropped.
    public func send(_ event: String, _ payload: JSON) async {
        // `try?`: an ended connection reports its failure to the task that reads it.
        try? await link?.send(event, payload)
    }

    // MARK: - Rooms

    /// Joins a room. From now on its events arrive, also after reconnects, until ``leave(_:)``.
    ///
    /// - Parameter keepingUnseen: true if the board's badge stays; a later call may change that.
    /// - Returns: the room as the server describes it.
    /// - Throws: `ClientFailure` or `CancellationError`. Unless the failure is final, as with `room_not_found`, the
    ///   socket keeps trying to join the room.
    package func join(_ roomID: String, keepingUnseen: Bool = false) async throws -> Room {
        rooms.want(roomID, keepingUnseen: keepingUnseen)
        guard let link else { throw ClientFailure.offline("not connected") }
        return try await join(roomID, over: link)
    }

    /// Leaves a room, which is not joined again. Without a connection this succeeds at once.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`. The room is not joined again even then.
    package func leave(_ roomID: String) async throws {
        rooms.drop(roomID)
        guard isConnected else { return }
        _ = try await emit("room:leave", ["roomId": .string(roomID)])
    }

    /// Joins the wanted rooms one after the other, in a task that ends with the connection.
    func joinRooms(over link: SocketLink) {
        guard joiner == nil, rooms.next != nil else { return }
        joiner = Task { [clock, random] in
            var backoff = Backoff()
            while !Task.isCancelled, link === self.link, let roomID = rooms.next {
                do {
                    _ = try await join(roomID, over: link)
                    backoff.reset()
                } catch let failure as ClientFailure where failure.isRetryable {
                    rooms.putLast(roomID)
                    // The service is unavailable, or there were too many joins. The end of the connection cancels
                    // this sleep.
                    guard (try? await clock.sleep(for: backoff.next(random: random()))) != nil else { return }
                } catch ClientFailure.refused(let refusal) where link === self.link {
                    // The refusal is final, so the room is no longer wanted.
                    queue.put(.refusedRoom(roomID, .refused(refusal)))
                } catch {
                    // The connection has ended, or the room is joined and only its description cannot be read.
                }
            }
            if link === self.link { joiner = nil }
        }
    }

    private func join(_ roomID: String, over link: SocketLink) async throws -> Room {
        let keepsUnseen = rooms.unseen.contains(roomID)
        var payload: [String: JSON] = ["roomId": .string(roomID), "keepOthers": .bool(true)]
        if keepsUnseen { payload["keepUnseen"] = .bool(true) }
        let data: Data
        do {
            data = try await link.ask("room:join", .object(payload), timeout: Self.ackTimeout)
        } catch let failure as ClientFailure where !failure.isRetryable {
            rooms.drop(roomID)
            throw failure
        } catch {
            if link === self.link { joinRooms(over: link) }
            throw error
        }
        let isCurrent = link === self.link && rooms.wants(roomID) && rooms.unseen.contains(roomID) == keepsUnseen
        if isCurrent { rooms.noteJoined(roomID) }
        let room = try ServerDecoder().decode(JoinAck.self, from: data).room
        if isCurrent { queue.put(.joined(room)) }
        return room
    }

    private struct JoinAck: Decodable {
        let room: Room
    }
}
