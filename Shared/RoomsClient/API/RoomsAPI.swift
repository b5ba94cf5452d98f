import Foundation

/// The server's HTTP calls, as the contract has them.
///
/// Every call throws `ClientFailure` or `CancellationError`, and asks the ``TokenProvider`` before. A token that the server refuses
/// is replaced, and the call repeated, once. Nothing else is repeated here: whoever calls knows what may be.
public struct RoomsAPI: Sendable {
    let caller: ServerCaller
    let tokens: any TokenProvider

    /// - Parameter makeRequestID: names each request in the server's log.
    public init(
        transport: any HTTPTransport, tokens: any TokenProvider,
        makeRequestID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() }
    ) {
        caller = ServerCaller(transport: transport, makeRequestID: makeRequestID)
        self.tokens = tokens
    }

    @discardableResult
    func answer(to request: HTTPRequest) async throws -> HTTPResponse {
        let token = try await tokens.token()
        do {
            return try await caller.answer(to: request, token: token)
        } catch ClientFailure.refused(let refusal) where refusal.status == 401 {
            let newer = try await tokens.token(replacing: token)
            return try await caller.answer(to: request, token: newer)
        }
    }

    func value<Value: Decodable>(_ type: Value.Type = Value.self, of request: HTTPRequest) async throws -> Value {
        try caller.read(type, try await answer(to: request)).data
    }

    func page<Item: Decodable>(_ type: Item.Type = Item.self, of request: HTTPRequest) async throws -> Page<Item> {
        let envelope = try caller.read([Item].self, try await answer(to: request))
        return Page(items: envelope.data, next: envelope.page?.next)
    }
}
