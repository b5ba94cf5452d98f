import TestClients

/// Keep-alive connections that share calls, first come, first served.
final class HTTPPool {
    private typealias Waiting = (call: HTTPCall, completion: (HTTPClient.Outcome) -> Void)

    private let clients: [HTTPClient]
    private var idle: [HTTPClient]
    private var waiting: [Waiting] = []
    /// The index of the next call; earlier ones have been sent.
    private var next = 0

    init(_ count: Int, in fixture: Fixture) async throws(ClientError) {
        var clients: [HTTPClient] = []
        for _ in 0..<count { clients.append(try await fixture.connect()) }
        self.clients = clients
        idle = clients
    }

    func answer(to call: HTTPCall) async throws(ClientError) -> HTTPAnswer {
        let outcome: HTTPClient.Outcome = await withCheckedContinuation { continuation in
            waiting.append((call, { continuation.resume(returning: $0) }))
            sendNext()
        }
        return try outcome.get()
    }

    func close() { for client in clients { client.close() } }

    private func sendNext() {
        guard next < waiting.count, let client = idle.popLast() else { return }
        let (call, completion) = waiting[next]
        next += 1
        if next == waiting.count {
            waiting = []
            next = 0
        }
        client.send(call) { [self] outcome in
            idle.append(client)
            completion(outcome)
            sendNext()
        }
    }
}
