import Contracts
import Logging
import MessageBus
import ServiceClient

/// Asks the owners of event logs for pages.
public struct LogClient: Sendable {
    private let bus: any MessageBus
    private let requestID: String
    private let owner: String
    private let log: Logger

    /// - Parameters:
    ///   - requestID: of the questions, for logs.
    ///   - owner: the part that is away, in the words of an error: "Messaging".
    ///   - log: of answers that were too long for the bus.
    public init(_ bus: any MessageBus, requestID: String, owner: String, log: Logger = .silent) {
        self.bus = bus
        self.requestID = requestID
        self.owner = owner
        self.log = log
    }

    /// - Throws: as `MessageBus.ask`; `service_unavailable` also if the answer is no page.
    public func page(
        of stream: String, _ query: LogQuery, within timeout: Duration = BusContext.defaultTimeout
    ) async throws(ServiceError) -> LogPage {
        try await page(of: stream, query, BusContext(requestID: requestID, timeout: timeout, isQuestion: true))
    }

    /// The same on behalf of a request (`Request.onward`): with its id and trace, and in the time that it has left.
    public func page(
        of stream: String, _ query: LogQuery, _ context: BusContext
    ) async throws(ServiceError) -> LogPage {
        let result: Result<LogPage, ServiceError> = await withCheckedContinuation { continuation in
            page(of: stream, query, context) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// The same for callers that must not suspend: the completion is called once, maybe before this returns, where the bus
    /// calls its own. It must not block.
    public func page(
        of stream: String, _ query: LogQuery, within timeout: Duration = BusContext.defaultTimeout,
        completion: @escaping @Sendable (Result<LogPage, ServiceError>) -> Void
    ) {
        page(
            of: stream, query, BusContext(requestID: requestID, timeout: timeout, isQuestion: true),
            completion: completion)
    }

    private func page(
        of stream: String, _ query: LogQuery, _ context: BusContext,
        completion: @escaping @Sendable (Result<LogPage, ServiceError>) -> Void
    ) {
        let read = { @Sendable [owner] (payload: any BusPayload) throws(ServiceError) in
            guard let page = try LogPage(payload) else { throw ServiceError.unavailable(owner) }
            return page
        }
        bus.ask(
            Subject.logPage(of: stream), query.json, context, of: owner, log: log, reading: read,
            completion: completion)
    }

    /// The end of each of these logs. The owner replies after the request, so all that was
    /// acknowledged before it is included. Logs whose owner does not reply are missing.
    public func heads(
        of streams: [String], within timeout: Duration = BusContext.defaultTimeout
    ) async -> [String: LogPosition] {
        await withTaskGroup(of: Head.self) { group in
            for stream in streams { group.addTask { await head(of: stream, within: timeout) } }
            var heads: [String: LogPosition] = [:]
            for await head in group { heads[head.stream] = head.position }
            return heads
        }
    }

    private struct Head: Sendable {
        let stream: String
        let position: LogPosition?
    }

    /// Apart, as one value: Swift 6.3 miscompiles a task of a group that returns a tuple out of a typed `do`, optimised.
    private func head(of stream: String, within timeout: Duration) async -> Head {
        do throws(ServiceError) {
            return Head(stream: stream, position: try await page(of: stream, .head, within: timeout).head)
        } catch {
            return Head(stream: stream, position: nil)
        }
    }
}
