import Foundation

// Calls of any route, for routes that have no method in this library.
extension RoomsAPI {
    /// Calls a route, such as one of a service that was added to the server, and decodes the `data` of its
    /// answer.
    ///
    /// Like every call, it sends a token, and repeats the request once if the server refuses that token. Nothing else
    /// is repeated: after `offline`, and after a refusal with status 503, the server may have acted. Repeat a
    /// call only if it changes nothing, or if its body has a key by which the service recognizes it.
    ///
    /// The server may handle concurrent calls in any order. It accepts bodies of up to 1 MiB, unless the service allows
    /// more for the route.
    ///
    /// - Parameters:
    ///   - method: `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    ///   - path: the route's segments, such as `["api", "rooms", room.id, "polls"]`. This method escapes them.
    ///   - query: such as `[("limit", "20"), ("cursor", page.next)]`. Items whose value is nil are left out.
    ///   - body: must encode as a JSON object; a ``JSON`` value is sent as it is. Dates become times as the server
    ///     writes them. `GET` has none.
    /// - Returns: the decoded `data`. The type may be ``JSON``. Dates are decoded from the server's times.
    /// - Throws: `ClientFailure` or `CancellationError`. `refused` has the service's own code. Its code is
    ///   `route_not_found` if no service has the route, if the path is empty, or if a segment is empty, `.` or `..`.
    ///   `unreadable` means that the data does not match the type, or that the body cannot be encoded. In the latter
    ///   case nothing was sent. If the task is cancelled, the server may have acted.
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

    /// Returns a page of a list.
    ///
    /// - Parameter query: the route's query. For the next page, it needs the ``Page/next`` of this one, under the name
    ///   that the route uses, such as `cursor`.
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
        // These segments would be removed on the way, so that the request would reach another route.
        guard !segments.isEmpty, !segments.contains(where: { ["", ".", ".."].contains($0) }) else {
            throw .refused(
                Refusal(
                    code: "route_not_found",
                    message: "The path is empty, or it has a segment that is empty, \".\" or \"..\".", status: 404))
        }
        self.init(
            method, segments.map { "/" + Self.percentEncode($0) }.joined(),
            query: query.compactMap { item in item.value.map { URLQueryItem(name: item.name, value: $0) } },
            body: try body.map { body throws(ClientFailure) in try JSON.data(encoding: body) })
    }
}
