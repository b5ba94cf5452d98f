/// The way to the server, and the tokens for it, which can be closed for a time: what is asked then fails with
/// `ClientFailure.offline`, as it does without a network. What is under way goes on.
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
        guard isOpen.withLock({ $0 }) else { throw RoomsSocket.stopped }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try check()
        return try await transport.send(request)
    }

    // Also here: a refresh of a token is a request, and would be spent on one that is not made.
    func token() async throws -> String {
        try check()
        return try await tokens.token()
    }

    func token(replacing refused: String) async throws -> String {
        try check()
        return try await tokens.token(replacing: refused)
    }
}
