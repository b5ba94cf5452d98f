/// A way to the server that can be closed for a time: what is asked then fails with `ClientFailure.offline`, as it does without a
/// network. What is under way goes on.
final class StoppableTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let isOpen = Guarded(true)

    init(_ transport: any HTTPTransport) { self.transport = transport }

    func open() { isOpen.withLock { $0 = true } }

    func close() { isOpen.withLock { $0 = false } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard isOpen.withLock({ $0 }) else { throw RoomsSocket.stopped }
        return try await transport.send(request)
    }
}
