import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorStorage

// Requests: each is passed to its handler, on the loop that it arrived on, and answered once.
extension ServiceHost {
    func receive(_ request: BusRequest, _ entry: RequestTable.Entry) {
        requests.add()
        guard inFlight.begin() else {
            failures.add()
            return request.reply(ServiceError.unavailable("This part of the service is busy and"))
        }
        // The loop that the request arrived on: requests start in order there, and replies need no other
        // thread.
        let loop = EventLoop.current ?? group.loop(forKey: request.context.key ?? "")
        let started = ContinuousClock.now
        switch entry {
        case .anywhere(let handler):
            run(on: loop, request, since: started) {
                try await handler(Request(request.data, request.context, deadline: request.deadline))
            }
        case .reading(let handler, let preparation):
            run(on: loop, request, since: started) { [self] in try await read(request, handler, after: preparation) }
        case .logPage(let logs):
            answerPage(of: logs, request, since: started)
        case .inRoom(let handler):
            do throws(ServiceError) {
                let parsed = try Request(request.data, request.context, deadline: request.deadline)
                let inRoom = InRoom(
                    request: parsed, caller: try parsed.caller, loop: loop, handler: handler, received: request,
                    started: started, place: places.wrappingAdd(1, ordering: .relaxed).newValue)
                context.memberships.enter(try parsed.fields.string("roomId"), parsed.onward()) { [self] in
                    run(inRoom, with: $0)
                }
            } catch {
                finish(request, error, since: started)
            }
        }
    }

    /// A request in a room.
    private struct InRoom: Sendable {
        let request: Request
        let caller: Caller
        let loop: EventLoop
        let handler: RequestTable.RoomHandler
        let received: BusRequest
        let started: ContinuousClock.Instant
        /// Its place among those of its sender.
        let place: Int
        /// The times that the handler may be called again: a record may change while a newer one is requested.
        fileprivate var repetitions = 8

        /// The request for another call of its handler; nil after too many.
        var repeated: InRoom? {
            guard repetitions > 0 else { return nil }
            var repeated = self
            repeated.repetitions -= 1
            return repeated
        }
    }

    /// Calls the handler of a request in a room with the room's record; again if the record turns out to be stale.
    private func run(_ inRoom: InRoom, with found: Result<Membership, ServiceError>) {
        let room: Membership
        switch found {
        case .success(let record): room = record
        case .failure(let error): return run(on: inRoom.loop, inRoom.received, since: inRoom.started) { throw error }
        }
        Task(executorPreference: inRoom.loop) { [self] in
            let reply: any BusPayload
            do {
                try requireSender(of: inRoom.received)
                reply = try await answer(inRoom.request, by: inRoom.caller, in: room, inRoom.handler)
            } catch {
                if let stale = error as? StaleMembership, let again = inRoom.repeated {
                    return context.memberships.renew(
                        room, atLeast: stale.fence, place: again.place, again.request.onward()
                    ) { [self] in run(again, with: $0) }
                }
                reply = errors.translated(error, inRoom.received.subject, inRoom.received.context.requestID)
            }
            context.memberships.leave(room.roomID)
            finish(inRoom.received, reply, since: inRoom.started)
        }
    }

    private func answer(
        _ request: Request, by caller: Caller, in room: Membership, _ handler: RequestTable.RoomHandler
    ) async throws -> Reply {
        guard let participant = room.participant(caller.id) else {
            // Somebody who has been added is missing in an older record.
            let fence = try await context.database.read { [table] in try table.fence(room.roomID, $0) }
            throw room.version < fence ? StaleMembership(fence: fence) : ServiceError.roomNotFound as any Error
        }
        let logID = LogID(name, context.logLayout.number(ofRoom: room.roomID))
        return try await handler(
            RoomRequest(
                request: request, room: room, caller: participant, logID: logID, database: context.database,
                fence: table.fence))
    }

    private func run(
        on loop: EventLoop, _ request: BusRequest, since started: ContinuousClock.Instant,
        _ work: @escaping @Sendable () async throws -> any BusPayload
    ) {
        Task(executorPreference: loop) { [self] in
            do {
                try requireSender(of: request)
                finish(request, try await work(), since: started)
            } catch {
                finish(request, errors.translated(error, request.subject, request.context.requestID), since: started)
            }
        }
    }

    /// If the sender no longer waits, performing its request would only make others late.
    private func requireSender(of request: BusRequest) throws(ServiceError) {
        guard request.remaining > .zero else { throw ServiceError.unavailable("This part of the service") }
    }

    /// Answers on the thread that reads. A list of rooms asks every log for its head and needs all replies: if each
    /// one came back to the loop, each would wake it.
    private func answerPage(of logs: EventLogs, _ request: BusRequest, since started: ContinuousClock.Instant) {
        do {
            try requireSender(of: request)
            let query = try LogQuery(RequestFields(request.data))
            logs.page(for: query, to: request.context.caller.flatMap(Caller.init)?.id) { [self] page in
                do {
                    finish(request, LogPage.Payload(try page.get()), since: started)
                } catch {
                    finish(
                        request, errors.translated(error, request.subject, request.context.requestID), since: started)
                }
            }
        } catch {
            finish(request, errors.translated(error, request.subject, request.context.requestID), since: started)
        }
    }

    /// Logs the ids that connect a request's log lines, and either the `seq` of its log entry or the code of its
    /// error.
    private func note(_ reply: any BusPayload, to context: BusContext, _ subject: String, _ took: Duration) {
        self.context.log.debug(
            "answered",
            [
                "request": context.requestID, "trace": context.trace.flatMap(TraceParent.init)?.traceID ?? "",
                "subject": subject, "seq": (reply as? Reply)?.position?.seq ?? 0,
                "code": (reply as? ServiceError)?.code.rawValue ?? "", "ms": took.milliseconds,
            ])
    }

    /// - Returns: the reply; for a batch, the list of those that fit.
    private func read(
        _ request: BusRequest, _ handler: @escaping RequestTable.ReadHandler,
        after preparation: RequestTable.Preparation?
    ) async throws -> any BusPayload {
        guard let batch = RequestBatch.decode(request.data, in: request.context) else {
            let parsed = try Request(request.data, request.context, deadline: request.deadline)
            try await preparation?(parsed)
            return try await context.database.read { try handler(parsed, $0) }
        }
        if let preparation {
            for one in batch {
                // A malformed request gets its error below.
                guard let parsed = try? Request(one.data, one.context, deadline: request.deadline) else { continue }
                try await preparation(parsed)
            }
        }
        let replies = try await context.database.read { [self] connection in
            var replies: [JSONValue] = []
            var bytes = 0
            // Once the sender no longer waits, the rest would be wasted.
            for one in batch where replies.isEmpty || request.remaining > .zero {
                let began = ContinuousClock.now
                let reply: any BusPayload
                var mayGoOn = true
                do {
                    reply = try handler(
                        Request(one.data, one.context, deadline: request.deadline), connection)
                } catch {
                    reply = errors.translated(error, request.subject, one.context.requestID)
                    // A storage error may have ended the snapshot. The sender repeats the requests that
                    // have no reply.
                    mayGoOn = !(error is StorageError)
                }
                // Encode the replies on this thread, not on the loop, because there are many.
                let encoded = reply.json
                bytes += encoded.bytes.count
                if bytes > RequestBatch.maxReplyBytes, !replies.isEmpty { break }
                replies.append(encoded)
                note(reply, to: one.context, request.subject, .now - began)
                if !mayGoOn { break }
            }
            return replies
        }
        requests.add(replies.count - 1)
        return JSONWriter.value { json in json.array(of: replies) { $0.value($1) } }
    }

    private func finish(_ request: BusRequest, _ reply: any BusPayload, since started: ContinuousClock.Instant) {
        let took = ContinuousClock.now - started
        latency.observe(took)
        // End the request before the reply, because `reply` may run the sender's code on this thread. The bus's
        // `close` still waits for the reply, as the bus counts requests too.
        inFlight.end()
        request.reply(reply)
        // Only a batch's reply is a `JSONValue`. Its members were logged one by one.
        if !(reply is JSONValue) { note(reply, to: request.context, request.subject, took) }
    }
}

extension LogQuery {
    /// Parses a query for a page of a log. `since` is 0 if it is absent.
    init(_ fields: RequestFields) throws(ServiceError) {
        self.init(
            since: try fields.optionalInt("since") ?? 0, digest: try fields.optionalInt("digest"),
            through: try fields.optionalInt("through"),
            roomIDs: fields.isGiven("roomIds") ? try fields.strings("roomIds", count: 0...Self.maxRooms)[...] : nil,
            limit: try fields.optionalInt("limit"))
        log = try fields.optionalLog()
    }
}

extension RequestFields {
    /// Reads the number of one of the service's logs; 0 if it is absent.
    func optionalLog() throws(ServiceError) -> Int {
        let log = try optionalInt("log") ?? 0
        guard LogLayout.numbers.contains(log) else { throw ServiceError.invalid("log", "is the number of a log") }
        return log
    }
}
