import ParlorReactor
import TestClients

/// Keeps a number of sends in flight on each socket for a time, then waits until every message has
/// arrived everywhere. Run once.
final class SendStorm {
    private(set) var sendingSeconds = 0.0

    private let sockets: [RoomSocket]
    private let inFlight: Int
    private let loop: EventLoop
    private var sending = 0
    private var isOver = false
    private var completion: ((Result<Void, ClientError>) -> Void)?

    /// The time after which a message counts as lost.
    private static let maxWait: Duration = .seconds(5)

    init(_ sockets: [RoomSocket], inFlight: Int, loop: EventLoop) {
        self.sockets = sockets
        self.inFlight = inFlight
        self.loop = loop
    }

    func run(for duration: Duration) async throws(ClientError) {
        let start = LoopInstant.now()
        let end = loop.schedule(after: duration) { [self] in isOver = true }
        sending = sockets.count * inFlight
        try await untilFinished(within: duration + Self.maxWait) { [self] in
            for socket in sockets {
                for _ in 0..<inFlight { send(on: socket) }
            }
        }
        end.cancel()
        sendingSeconds = (LoopInstant.now() - start) / .seconds(1)

        try await untilFinished(within: Self.maxWait) { [self] in
            for socket in sockets { socket.onProgress = { [self] in finishIfComplete() } }
            finishIfComplete()
        }
        for socket in sockets { socket.onProgress = nil }
        // Doubled events may arrive last: an answer on each socket follows everything that was on
        // its way.
        for socket in sockets { try await socket.leave() }
    }

    /// The faults of each socket.
    var faults: [String] {
        var found = sending == 0 ? [] : ["\(sending) sends without an ack"]
        for socket in sockets {
            found += socket.ledger.faults(sent: acknowledged(in: socket.room)).map { "room \(socket.room): \($0)" }
        }
        return found
    }

    private func send(on socket: RoomSocket) {
        socket.send { [self] outcome in
            if case .failure = outcome { return finish(outcome) }
            guard isOver else { return send(on: socket) }
            sending -= 1
            if sending == 0 { finish(.success(())) }
        }
    }

    private func finishIfComplete() {
        if sockets.allSatisfy({ $0.ledger.delivered >= acknowledged(in: $0.room) }) { finish(.success(())) }
    }

    private func acknowledged(in room: String) -> Int {
        sockets.reduce(0) { $0 + ($1.room == room ? $1.acknowledged : 0) }
    }

    /// Waits until `finish`, or the limit: missing messages then show in `faults`.
    private func untilFinished(within limit: Duration, _ start: () -> Void) async throws(ClientError) {
        let timer = loop.schedule(after: limit) { [self] in finish(.success(())) }
        defer { timer.cancel() }
        let outcome: Result<Void, ClientError> = await withCheckedContinuation { continuation in
            completion = { continuation.resume(returning: $0) }
            start()
        }
        try outcome.get()
    }

    /// Ends a phase; only its first outcome counts.
    private func finish(_ outcome: Result<Void, ClientError>) {
        completion?(outcome)
        completion = nil
    }
}
