import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceClient
import Synchronization

/// A client that requests pages from the owners of event logs.
public struct LogClient: Sendable {
    private let bus: any MessageBus
    private let requestID: String
    private let owner: String
    private let faults: ReplyFaults?
    let lists = ParticipantLists()

    /// - Parameters:
    ///   - requestID: the id of the requests, for log lines.
    ///   - owner: the name of the owner in an error message: "Messaging".
    ///   - faults: notes replies that are late, too long for the bus, or malformed.
    public init(_ bus: any MessageBus, requestID: String, owner: String, faults: ReplyFaults? = nil) {
        self.bus = bus
        self.requestID = requestID
        self.owner = owner
        self.faults = faults
    }

    /// Returns the context for a request that is not made on behalf of another one.
    public func context(within timeout: Duration = BusContext.defaultTimeout) -> BusContext {
        BusContext(requestID: requestID, timeout: timeout, isRepeatable: true)
    }

    /// Requests a page of a log.
    ///
    /// - Parameter context: `Request.onward` of the request on whose behalf this one is made; nil if there is none. It
    ///   has the same id and trace, and the time that is left.
    /// - Throws: the errors of `MessageBus.ask`; `service_unavailable` also if the reply is not a page.
    public func page(
        of logID: LogID, _ query: LogQuery, _ context: BusContext? = nil
    ) async throws(ServiceError) -> LogPage {
        let result: Result<LogPage, ServiceError> = await withCheckedContinuation { continuation in
            page(of: logID, query, context) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Requests a page for callers that must not suspend. The completion is called once, maybe before this
    /// returns, on any thread: within a process it is the one that has read the page. It must not block.
    public func page(
        of logID: LogID, _ query: LogQuery, _ context: BusContext? = nil,
        completion: @escaping @Sendable (Result<LogPage, ServiceError>) -> Void
    ) {
        let query = query.of(logID.number)
        let (subject, data, context) = (Subject.logPage(of: logID), query.json, context ?? self.context())
        let reader = ReplyReader(subject, data, context, of: owner, faults: faults)
        bus.request(subject, data, context) { [self] reply in
            // The owner does not know how much the bus carries: a NATS server may carry less than Parlor's own bus.
            if case .failure(.lineTooLong) = reply, let shorter = query.halved {
                return page(of: logID, shorter, context, completion: completion)
            }
            completion(
                reader.read(reply) { payload throws(ServiceError) in
                    guard let page = try LogPage(payload, sharing: lists) else { throw malformed(subject, context) }
                    if page.malformedCount > 0 {
                        let detail = "between \(query.since + 1) and \(page.through)"
                        faults?.note(.malformedEntry, detail, on: subject, context)
                    }
                    return page
                })
        }
    }

    /// Requests a page of a snapshot (`forEachSnapshotPage`).
    func snapshotPage(of logID: LogID, cursor: String?) async throws(ServiceError) -> SnapshotPage {
        let data = JSONWriter.object {
            if let cursor { $0.member("cursor", cursor) }
            if logID.number != 0 { $0.member("log", logID.number) }
        }
        let (subject, context) = (Subject.snapshot(of: logID), context())
        let reply = try await bus.ask(subject, data, context, of: owner, faults: faults)
        guard let page = SnapshotPage(reply) else { throw malformed(subject, context) }
        return page
    }

    private func malformed(_ subject: String, _ context: BusContext) -> ServiceError {
        faults?.note(.malformed, on: subject, context)
        return unavailable
    }

    /// Notes an entry that was published and cannot be read.
    func noteMalformedEntry(of logID: LogID) {
        faults?.note(.malformedEntry, on: Subject.log(of: logID), context())
    }

    var unavailable: ServiceError { .unavailable(owner) }

    /// Requests the head of each of these logs. The owner reads it after the request, so everything
    /// acknowledged before is included. Logs whose owner does not reply are missing.
    ///
    /// - Parameter logs: the logs of each service one after the other: it is asked once for them.
    public func heads(
        of logs: [LogID], within timeout: Duration = BusContext.defaultTimeout
    ) async -> [LogID: LogPosition] {
        guard !logs.isEmpty else { return [:] }
        var services: [ArraySlice<LogID>] = []
        var rest = logs[...]
        while let service = rest.first?.service {
            services.append(rest.prefix { $0.service == service })
            rest = rest.drop { $0.service == service }
        }
        // Not a task for each: the last reply alone resumes the caller.
        return await withCheckedContinuation { continuation in
            let replies = HeadReplies(services.count, continuation)
            for logs in services {
                page(of: logs[logs.startIndex], .head, context(within: timeout)) {
                    replies.take(try? $0.get(), of: logs)
                }
            }
        }
    }
}

/// The replies to requests for the heads of logs, until all are there.
private final class HeadReplies: Sendable {
    private struct State {
        var heads: [LogID: LogPosition] = [:]
        var missing: Int
    }

    private let state: Mutex<State>
    private let continuation: CheckedContinuation<[LogID: LogPosition], Never>

    init(_ count: Int, _ continuation: CheckedContinuation<[LogID: LogPosition], Never>) {
        state = Mutex(State(missing: count))
        self.continuation = continuation
    }

    /// - Parameter page: nil if the owner did not reply.
    func take(_ page: LogPage?, of logs: ArraySlice<LogID>) {
        let heads = state.withLock { state -> [LogID: LogPosition]? in
            for logID in logs { state.heads[logID] = page?.head(of: logID.number) }
            state.missing -= 1
            return state.missing == 0 ? state.heads : nil
        }
        if let heads { continuation.resume(returning: heads) }
    }
}
