import Contracts
import JSON
import Logging
import MessageBus

extension MessageBus {
    /// Asks a service, and reads its reply.
    ///
    /// - Parameters:
    ///   - owner: the part that is away, in the words of an error for a person, which begins with it: "Rooms".
    ///   - log: of answers that were too long for the bus.
    /// - Throws: the error that the service answered with; `service_unavailable` where asking again may help, as nobody is
    ///   there or no reply came by the context's deadline (the request may have been carried out); `payload_too_large` if the
    ///   question is too long for the bus; `internal_error` if the answer is too long, or none.
    public func ask(
        _ subject: String, _ data: JSONValue, _ context: BusContext, of owner: String, log: Logger = .silent
    ) async throws(ServiceError) -> Reply {
        let result: Result<Reply, ServiceError> = await withCheckedContinuation { continuation in
            ask(subject, data, context, of: owner, log: log) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// The same for those who must not suspend: the completion is called once, maybe before this returns, where the bus calls
    /// its own. It must not block.
    public func ask(
        _ subject: String, _ data: JSONValue, _ context: BusContext, of owner: String, log: Logger = .silent,
        completion: @escaping @Sendable (Result<Reply, ServiceError>) -> Void
    ) {
        let read = { @Sendable (payload: any BusPayload) throws(ServiceError) in try Reply(payload) }
        ask(subject, data, context, of: owner, log: log, reading: read, completion: completion)
    }

    /// The same for an answer that is not read as a `Reply`.
    ///
    /// - Parameter read: reads what the owner has sent, and throws its error.
    public func ask<Answer: Sendable>(
        _ subject: String, _ data: JSONValue, _ context: BusContext, of owner: String, log: Logger = .silent,
        reading read: @escaping @Sendable (any BusPayload) throws(ServiceError) -> Answer,
        completion: @escaping @Sendable (Result<Answer, ServiceError>) -> Void
    ) {
        let isLong = data.bytes.count > BusLimits.maxLine / 2
        request(subject, data, context) { answer in
            do throws(ServiceError) {
                switch answer {
                case .success(let payload): completion(.success(try read(payload)))
                case .failure(let error):
                    throw ServiceError(error, asking: owner, subject, context, isLong: isLong, log: log)
                }
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Asks for a list to its end. It comes in pages that fit the bus: each `page` is the `cursor` to ask on with.
    ///
    /// - Parameters:
    ///   - data: an object; the question, but for `cursor`.
    ///   - context: its timeout is for all pages together.
    /// - Returns: the replies, in order; one at least.
    /// - Throws: as `ask`; nothing of a list that could not be had whole.
    public func askForPages(
        _ subject: String, _ data: JSONValue, _ context: BusContext, of owner: String, log: Logger = .silent
    ) async throws(ServiceError) -> [Reply] {
        let deadline = ContinuousClock.now + context.timeout
        var context = context
        var pages = [try await ask(subject, data, context, of: owner, log: log)]
        while let cursor = pages.last?.page?.string {
            context.timeout = ContinuousClock.now.duration(to: deadline)
            // A bus in this process may answer however late it is.
            guard context.timeout > .zero else { throw .unavailable(owner) }
            let question = JSONWriter.object {
                $0.members(of: data)
                $0.member("cursor", cursor)
            }
            pages.append(try await ask(subject, question, context, of: owner, log: log))
        }
        return pages
    }

    /// The items of a list that comes in pages, all of them.
    ///
    /// - Parameter write: the members of the question, but for `cursor`.
    /// - Throws: as `askForPages`; `internal_error` if a page is no list.
    public func askForAll(
        _ subject: String, _ context: BusContext, of owner: String, _ write: (inout JSONWriter) -> Void
    ) async throws(ServiceError) -> [JSONValue] {
        var items: [JSONValue] = []
        for page in try await askForPages(subject, JSONWriter.object(write), context, of: owner) {
            guard let found = page.data.array else { throw .noAnswer }
            items += found
        }
        return items
    }
}

extension MessageBus {
    /// The interval between attempts while the bus is unavailable.
    private static var settlingInterval: Duration { .milliseconds(50) }

    /// Returns once the bus knows of all subscriptions: from then on, everyone who learns of the
    /// service may send it requests.
    ///
    /// If the bus disconnects meanwhile, this waits until it is back, however long that takes. Then
    /// all subscriptions are sent again.
    ///
    /// - Throws: `CancellationError`; all that `flush` throws except `BusError.disconnected`.
    public func settle() async throws {
        while true {
            do {
                return try await flush()
            } catch BusError.disconnected {
                try await Task.sleep(for: Self.settlingInterval)
            }
        }
    }
}

extension ServiceError {
    /// The error of a question that the bus did not carry, or not its answer.
    ///
    /// - Parameters:
    ///   - owner: as in `MessageBus.ask`.
    ///   - isLong: whether the question is so long that it, and not the answer, is what has no room on the bus.
    fileprivate init(
        _ error: BusError, asking owner: String, _ subject: String, _ context: BusContext, isLong: Bool, log: Logger
    ) {
        switch error {
        // What is wrong is the question, if it is long, or else the answer: neither gets better by trying again.
        case .lineTooLong where isLong:
            self.init(.payloadTooLarge, "That is more than can be taken at once.")
        case .lineTooLong:
            log.error("an answer is too long for the bus", ["subject": subject, "request": context.requestID])
            self.init(.internal, "Something went wrong on our side.")
        default: self = .unavailable(owner)
        }
    }
}
