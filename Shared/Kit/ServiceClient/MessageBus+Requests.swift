import ParlorContracts
import ParlorJSON
import ParlorMessageBus

extension MessageBus {
    /// Sends a request to a service, and reads its reply.
    ///
    /// - Parameters:
    ///   - owner: the service's name at the start of an error message for a person: "Rooms".
    ///   - faults: notes replies that are late, too long for the bus, or malformed.
    /// - Throws: the service's error; `payload_too_large` if the request is too long for the bus;
    ///   `internal_error` if the reply is too long or malformed; `service_unavailable` for any other failure of
    ///   the bus, such as no responder, or no reply by the context's deadline. The request may then have been
    ///   performed, and a retry may help.
    public func ask(
        _ subject: String, _ data: JSONValue, _ context: BusContext, of owner: String, faults: ReplyFaults? = nil
    ) async throws(ServiceError) -> Reply {
        let result: Result<Reply, ServiceError> = await withCheckedContinuation { continuation in
            ask(subject, data, context, of: owner, faults: faults) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Sends a request for callers that must not suspend. The completion is called once, maybe before this
    /// returns, on the bus's thread for completions. It must not block.
    public func ask(
        _ subject: String, _ data: JSONValue, _ context: BusContext, of owner: String, faults: ReplyFaults? = nil,
        completion: @escaping @Sendable (Result<Reply, ServiceError>) -> Void
    ) {
        let reader = ReplyReader(subject, data, context, of: owner, faults: faults)
        request(subject, data, context) { reply in
            completion(reader.read(reply) { payload throws(ServiceError) in try Reply(payload) })
        }
    }

    /// Requests all pages of a list. Each page fits the bus, and its `page` is the `cursor` of the next
    /// request.
    ///
    /// - Parameters:
    ///   - data: the request, an object without `cursor`.
    ///   - context: its timeout is for all pages together.
    /// - Returns: the replies, in order; at least one.
    /// - Throws: the errors of `ask`. A partial list is never returned.
    public func askForPages(
        _ subject: String, _ data: JSONValue, _ context: BusContext, of owner: String, faults: ReplyFaults? = nil
    ) async throws(ServiceError) -> [Reply] {
        let deadline = ContinuousClock.now + context.timeout
        var context = context
        var pages = [try await ask(subject, data, context, of: owner, faults: faults)]
        while let cursor = pages.last?.page?.string {
            context.timeout = ContinuousClock.now.duration(to: deadline)
            // A bus in this process may deliver a reply however late it is.
            guard context.timeout > .zero else { throw .unavailable(owner) }
            let next = JSONWriter.object {
                $0.members(of: data)
                $0.member("cursor", cursor)
            }
            pages.append(try await ask(subject, next, context, of: owner, faults: faults))
        }
        return pages
    }

    /// Requests all items of a list, over all its pages.
    ///
    /// - Parameter write: writes the members of the request, without `cursor`.
    /// - Throws: the errors of `askForPages`; `internal_error` if a page is not a list.
    public func askForAll(
        _ subject: String, _ context: BusContext, of owner: String, _ write: (inout JSONWriter) -> Void
    ) async throws(ServiceError) -> [JSONValue] {
        var items: [JSONValue] = []
        for page in try await askForPages(subject, JSONWriter.object(write), context, of: owner) {
            guard let found = page.data.array else { throw .noReply }
            items += found
        }
        return items
    }
}

extension MessageBus {
    /// The interval between attempts while the bus is unavailable.
    private static var settlingInterval: Duration { .milliseconds(50) }

    /// Returns once the bus knows all subscriptions. From then on, anyone who learns of the service may send
    /// it requests.
    ///
    /// If the bus disconnects meanwhile, this waits until it is connected again, however long that takes. Then all
    /// subscriptions are sent again.
    ///
    /// - Throws: `CancellationError`; the errors of `flush` except `BusError.disconnected`.
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
