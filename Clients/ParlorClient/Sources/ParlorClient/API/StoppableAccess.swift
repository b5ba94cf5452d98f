/// A transport and its tokens, which can be closed and opened again. While they are closed, new calls fail with
/// `ClientFailure.offline`, as without a network; after the end, with `signedOut`. Calls in progress continue.
final class StoppableAccess: HTTPTransport, TokenProvider {
    private let transport: any HTTPTransport
    private let tokens: any TokenProvider
    /// Why new calls fail; nil if they are made.
    private let refusal = Guarded<ClientFailure?>(nil)

    init(_ transport: any HTTPTransport, _ tokens: any TokenProvider) {
        self.transport = transport
        self.tokens = tokens
    }

    func open() { set(nil) }

    func close() { set(.stopped) }

    /// Closes it for good, because the person has signed out.
    func end() { set(.signedOut) }

    var isAllowed: Bool { refusal.withLock { $0 == nil } }

    private func set(_ refusal: ClientFailure?) {
        self.refusal.withLock { if $0 != .signedOut { $0 = refusal } }
    }

    private func check() throws {
        if let refusal = refusal.withLock({ $0 }) { throw refusal }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try check()
        return try await transport.send(request)
    }

    // Tokens are closed too: a refresh is a request, and nothing would use the new token.
    func token() async throws -> String {
        try check()
        return try await tokens.token()
    }

    func token(replacing refused: String) async throws -> String {
        try check()
        return try await tokens.token(replacing: refused)
    }
}
