import Foundation

/// The server's HTTP calls, which docs/api.md describes.
///
/// Every call throws `ClientFailure` or `CancellationError`. It first gets a token. If the server refuses the token,
/// the call fetches a new one and repeats the request once. Nothing else is retried: only the caller knows what is safe
/// to repeat.
public struct RoomsAPI: Sendable {
    let caller: ServerCaller
    let tokens: any TokenProvider

    /// - Parameter makeRequestID: returns an id for each request. The server's log has it too.
    package init(
        transport: any HTTPTransport, tokens: any TokenProvider,
        makeRequestID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() }
    ) {
        caller = ServerCaller(transport: transport, makeRequestID: makeRequestID)
        self.tokens = tokens
    }

    @concurrent
    private func answer(to request: HTTPRequest, unless tag: String? = nil) async throws -> HTTPResponse {
        try await ClientFailure.translating {
            let token = try await tokens.token()
            do {
                return try await caller.answer(to: request, token: token, unless: tag)
            } catch ClientFailure.refused(let refusal) where refusal.code == "unauthenticated" {
                // Another refusal with status 401, such as `invalid_credentials`, is not about the token.
                let newer = try await tokens.token(replacing: token)
                return try await caller.answer(to: request, token: newer, unless: tag)
            }
        }
    }

    // The functions that decode are `@concurrent`: decoding a long page takes a while, and the caller may be on the
    // main actor.

    /// Sends a request and ignores the answer's data.
    @concurrent
    func perform(_ request: HTTPRequest) async throws { try caller.check(try await answer(to: request)) }

    @concurrent
    func envelope<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, of request: HTTPRequest
    ) async throws -> Envelope<Value> {
        try caller.read(type, try await answer(to: request))
    }

    /// Sends a request with an ETag: the server sends no data if the caller's answer is still current.
    ///
    /// - Parameter tag: the ETag of the answer that the caller has.
    /// - Returns: the new answer and its tag; nil if the caller's is current.
    @concurrent
    func envelope<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, of request: HTTPRequest, unless tag: String?
    ) async throws -> (Envelope<Value>, tag: String?)? {
        let response = try await answer(to: request, unless: tag)
        guard response.status != 304 else { return nil }
        return (try caller.read(type, response), response.headers["etag"])
    }

    func value<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, of request: HTTPRequest
    ) async throws -> Value {
        try await envelope(type, of: request).data
    }

    /// - Returns: nil for an answer without data.
    @concurrent
    func valueIfAny<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, of request: HTTPRequest
    ) async throws -> Value? {
        let response = try await answer(to: request)
        return response.status == 204 ? nil : try caller.read(type, response).data
    }

    // `@concurrent` avoids a fault of release builds with Swift 6.3. A function that inherits its caller's actor can
    // return off that actor, if it has work to do after its last `await`. After a `@concurrent` function, the caller
    // always continues on its own actor.
    @concurrent
    func page<Item: Decodable & Sendable>(
        _ type: Item.Type = Item.self, of request: HTTPRequest
    ) async throws -> Page<Item> {
        let envelope = try await envelope([Item].self, of: request)
        return Page(items: envelope.data, next: envelope.page?.next, degraded: envelope.degraded ?? [])
    }
}
