import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import Synchronization
import Testing

/// Answers `messaging.answered` as the test says; any other request is an error.
final class FakeMessaging: Sendable {
    private struct State {
        var isAnswered = false
        var asked: [[String]] = []
    }

    private let state = Mutex(State())
    private let subscription = Mutex<BusSubscription?>(nil)

    init(on bus: any MessageBus) throws {
        let subscription = try bus.respond(to: "messaging.>", queue: "messaging") { [weak self] in self?.answer($0) }
        self.subscription.withLock { $0 = subscription }
    }

    /// The rooms of each request, in order.
    var asked: [[String]] { state.withLock { $0.asked } }

    func write() { state.withLock { $0.isAnswered = true } }

    func takeDown() { subscription.withLock { $0 }?.cancel() }

    private func answer(_ request: BusRequest) {
        guard request.subject == "messaging.answered", let rooms = request.data["roomIds"]?.array?.compactMap(\.string)
        else {
            Issue.record("\(request.subject) was asked")
            return request.reply(ServiceError(.internal, "unexpected").json)
        }
        let isAnswered = state.withLock { state in
            state.asked.append(rooms)
            return state.isAnswered
        }
        request.reply(Reply(.ok, JSONWriter.object { $0.member("isAnswered", isAnswered) }).json)
    }
}
