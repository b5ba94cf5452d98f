import ParlorReactor
import TestClients

/// Two people in a room who write in turns at a steady pace, whether they get answers or not.
final class SteadySends {
    private(set) var sent = 0
    private let sockets: [RoomSocket]
    private let loop: EventLoop
    private var timer: LoopTimer?
    private var refused: [ClientError] = []
    private var isComplete: (() -> Void)?

    private static let interval: Duration = .milliseconds(20)
    /// The time after which a message counts as lost.
    private static let maxWait: Duration = .seconds(10)

    private init(_ sockets: [RoomSocket], on loop: EventLoop) {
        self.sockets = sockets
        self.loop = loop
    }

    /// Creates two people in a room of their own.
    static func meet(in fixture: Fixture) async throws(ClientError) -> SteadySends {
        let people = try await fixture.register(2)
        let room = try await fixture.makeRooms(1, of: people[0], with: people[1])[0]
        var sockets: [RoomSocket] = []
        for person in people { sockets.append(try await RoomSocket.join(room, as: person, in: fixture)) }
        return SteadySends(sockets, on: fixture.loop)
    }

    var latencies: Latencies { sockets.reduce(into: Latencies()) { $0.add($1.latencies) } }

    /// The faults of either socket, once stopped.
    var faults: [String] {
        var found = sockets.flatMap { $0.ledger.faults(sent: acknowledged) }.map { "survivors: \($0)" }
        if let first = refused.first { found.append("survivors: \(refused.count) sends refused: \(first)") }
        if acknowledged + refused.count < sent { found.append("survivors: sends without an ack") }
        return found
    }

    private var acknowledged: Int { sockets.reduce(0) { $0 + $1.acknowledged } }

    func start() {
        sockets[sent % sockets.count].send { [self] outcome in
            if case .failure(let error) = outcome { refused.append(error) }
            finishIfComplete()
        }
        sent += 1
        timer = loop.schedule(after: Self.interval) { [self] in start() }
    }

    /// Stops sending; returns when every message has arrived everywhere, or is lost.
    func stop() async throws(ClientError) {
        timer?.cancel()
        let limit = loop.schedule(after: Self.maxWait) { [self] in finish() }
        await withCheckedContinuation { continuation in
            isComplete = { continuation.resume() }
            for socket in sockets { socket.onProgress = { [self] in finishIfComplete() } }
            finishIfComplete()
        }
        limit.cancel()
        // Doubled events may arrive last: an answer on each socket follows everything that was on
        // its way.
        for socket in sockets {
            socket.onProgress = nil
            try await socket.leave()
            socket.close()
        }
    }

    private func finishIfComplete() {
        let isAnswered = acknowledged + refused.count >= sent
        if isAnswered, sockets.allSatisfy({ $0.ledger.delivered >= acknowledged }) { finish() }
    }

    private func finish() {
        isComplete?()
        isComplete = nil
    }
}
