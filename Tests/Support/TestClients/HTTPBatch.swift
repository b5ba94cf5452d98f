/// Calls shared among connections, each of which takes the next one after its answer. Run once.
package final class HTTPBatch {
    private let calls: [HTTPCall]
    private let clients: [HTTPClient]
    private var begun = 0
    private var left: Int
    private var answers: [HTTPAnswer?]
    private var completion: ((Result<[HTTPAnswer], ClientError>) -> Void)?

    package init(_ calls: [HTTPCall], on clients: [HTTPClient]) {
        self.calls = calls
        self.clients = clients
        left = calls.count
        answers = Array(repeating: nil, count: calls.count)
    }

    /// Runs the calls, and returns the answers in their order.
    package func run() async throws(ClientError) -> [HTTPAnswer] {
        guard !calls.isEmpty else { return [] }
        let outcome: Result<[HTTPAnswer], ClientError> = await withCheckedContinuation { continuation in
            completion = { continuation.resume(returning: $0) }
            for client in clients { sendNext(on: client) }
        }
        return try outcome.get()
    }

    private func sendNext(on client: HTTPClient) {
        guard begun < calls.count, completion != nil else { return }
        let index = begun
        begun += 1
        client.send(calls[index]) { [self] outcome in
            switch outcome {
            case .failure(let error): finish(.failure(error))
            case .success(let answer):
                answers[index] = answer
                left -= 1
                if left == 0 { finish(.success(answers.compactMap(\.self))) } else { sendNext(on: client) }
            }
        }
    }

    /// Ends the run; only the first outcome counts.
    private func finish(_ outcome: Result<[HTTPAnswer], ClientError>) {
        completion?(outcome)
        completion = nil
    }
}
