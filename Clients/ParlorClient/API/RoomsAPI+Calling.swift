import Foundation

// Calls of routes that this library has no method for.
extension RoomsAPI {
    /// Calls a route, such as one of a service that was added to the server, and decodes the `data` of its
    /// answer.
    ///
    /// It has the tokens, the one repetition after a refused token, and the errors of all calls. Nothing else
    /// is repeated: after `offline`, and after a refusal with status 503, the server may have acted. Repeat a
    /// call only if it changes nothing, or if its body has a key by which the service recognizes it.
    ///
    /// Calls are independent of each other: of two that are under way, either may be handled first. The server
    /// takes bodies of up to 1 MiB, unless the service allows more for the route.
    ///
    /// - Parameters:
    ///   - method: `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    ///   - path: the route's segments, such as `["api", "rooms", room.id, "polls"]`. Each is escaped here.
    ///   - query: such as `[("limit", "20"), ("cursor", page.next)]`. Items whose value is nil are left out.
    ///   - body: must encode as a JSON object; a ``JSON`` value is sent as it is. Dates become times as the server
    ///     writes them. `GET` has none.
    /// - Returns: the decoded `data`. The type may be ``JSON``. Dates are decoded from the server's times.
    /// - Throws: `ClientFailure`: `refused` with the service's own code, or with `route_not_found` if no service
    ///   has the route, or if the path or a segment is empty, or a segment is `.` or `..`; `unreadable` if the data has
    ///   another form, or if the body cannot be encoded, before anything is sent.
    ///   `CancellationError` if the task is cancelled; the server may have acted.
    @concurrent
    public func call<Answer: Decodable & Sendable>(
        _ method: String, _ path: [String], query: [(name: String, value: String?)] = [],
        body: (any Encodable & Sendable)? = nil, as type: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await value(type, of: try HTTPRequest(method, route: path, query: query, body: body))
    }

    /// Calls a route whose answer has no data, or whose data does not matter.
    ///
    /// - Returns: the answer's `data`; `.null` if it has none.
    /// - Throws: as the call with a decoded answer.
    @concurrent
    @discardableResult
    public func call(
        _ method: String, _ path: [String], query: [(name: String, value: String?)] = [],
        body: (any Encodable & Sendable)? = nil
    ) async throws -> JSON {
        try await valueIfAny(of: try HTTPRequest(method, route: path, query: query, body: body)) ?? .null
    }

    /// Gets a page of a list.
    ///
    /// - Parameter query: for the next page, with the ``Page/next`` of this one under the name that the route
    ///   has for it, such as `cursor`.
    /// - Throws: as the call with a decoded answer.
    @concurrent
    public func callPage<Item: Decodable & Sendable>(
        _ path: [String], query: [(name: String, value: String?)] = [], of type: Item.Type = Item.self
    ) async throws -> Page<Item> {
        try await page(type, of: try HTTPRequest("GET", route: path, query: query, body: nil))
    }
}

extension HTTPRequest {
    /// A request for any route of the server.
    fileprivate init(
        _ method: String, route segments: [String], query: [(name: String, value: String?)],
        body: (any Encodable)?
    ) throws(ClientFailure) {
        // On the way, these would be taken out, and another route be called.
        guard !segments.isEmpty, !segments.contains(where: { ["", ".", ".."].contains($0) }) else {
            throw .refused(
                Refusal(
                    code: "route_not_found", message: "The path, or a segment of it, is empty or dots.", status: 404))
        }
        self.init(
            method, segments.map { "/" + Self.percentEncode($0) }.joined(),
            query: query.compactMap { item in item.value.map { URLQueryItem(name: item.name, value: $0) } },
            body: try body.map { body throws(ClientFailure) in try JSON.data(encoding: body) })
    }
}
