/// A transport and its tokens, which can be closed and opened again. While they are closed, new calls fail with
/// `ClientFailure.offline`, as without a network. Calls in progress continue.
final class StoppableAccess: HTTPTransport, TokenProvider {
    private let transport: any HTTPTransport
    private let tokens: any TokenProvider
    private let isOpen = Guarded(true)

    init(_ transport: any HTTPTransport, _ tokens: any TokenProvider) {
        self.transport = transport
        self.tokens = tokens
    }

    func open() { isOpen.withLock { $0 = true } }

    func close() { isOpen.withLock { $0 = false } }

    var isAllowed: Bool { isOpen.withLock { $0 } }

    private func check() throws {
        guard isOpen.withLock({ $0 }) else { throw ClientFailure.stopped }
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
