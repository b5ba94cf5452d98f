import ParlorReactor
import TestClients

/// A repeated call on several connections at once, for a time. Run once.
final class RepeatedCall {
    private(set) var latencies = Latencies()
    private(set) var wrongAnswers = 0
    private(set) var elapsedSeconds = 0.0

    private let call: HTTPCall
    private let clients: [HTTPClient]
    private let duration: Duration
    private let loop: EventLoop
    private var isOver = false
    private var busy = 0
    private var completion: ((Result<Void, ClientError>) -> Void)?

    init(_ call: HTTPCall, on clients: [HTTPClient], for duration: Duration, loop: EventLoop) {
        self.call = call
        self.clients = clients
        self.duration = duration
        self.loop = loop
    }

    /// - Parameter isRight: whether an answer is correct.
    func run(isRight: @escaping (HTTPAnswer) -> Bool) async throws(ClientError) {
        let start = LoopInstant.now()
        let timer = loop.schedule(after: duration) { [self] in isOver = true }
        let outcome: Result<Void, ClientError> = await withCheckedContinuation { continuation in
            completion = { continuation.resume(returning: $0) }
            busy = clients.count
            for client in clients { send(on: client, isRight) }
        }
        timer.cancel()
        elapsedSeconds = (LoopInstant.now() - start) / .seconds(1)
        try outcome.get()
    }

    private func send(on client: HTTPClient, _ isRight: @escaping (HTTPAnswer) -> Bool) {
        let start = LoopInstant.now()
        client.send(call) { [self] outcome in
            switch outcome {
            case .failure(let error): finish(.failure(error))
            case .success(let answer):
                latencies.record(since: start)
                if !isRight(answer) { wrongAnswers += 1 }
                guard isOver else { return send(on: client, isRight) }
                busy -= 1
                if busy == 0 { finish(.success(())) }
            }
        }
    }

    /// Ends the run; only the first outcome counts.
    private func finish(_ outcome: Result<Void, ClientError>) {
        completion?(outcome)
        completion = nil
    }
}
