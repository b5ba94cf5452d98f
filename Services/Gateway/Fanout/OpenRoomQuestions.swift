import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit
import Synchronization

/// Answers who has a room open on this gateway, and how fresh the evidence is: for services that would wake a phone otherwise.
final class OpenRoomQuestions: Sendable {
    private let gatewayID: String
    private let bus: any MessageBus
    private let fanout: Fanout
    private let subscription = Mutex<BusSubscription?>(nil)

    init(gatewayID: String, bus: any MessageBus, fanout: Fanout) {
        self.gatewayID = gatewayID
        self.bus = bus
        self.fanout = fanout
    }

    func start() throws(BusError) {
        let made = try bus.respond(to: Subject.openRooms(of: gatewayID), queue: "gateway") { [fanout] request in
            guard let question = OpenRoomQuestion(request.data) else {
                return request.reply(ServiceError.wrongType("rooms", "a list of rooms and people"))
            }
            Task {
                var sockets = [[SocketEvidence]](repeating: [], count: question.places.count)
                for shard in fanout.shards {
                    for (index, found) in await shard.evidence(for: question).enumerated() { sockets[index] += found }
                }
                request.reply(Reply(.ok, OpenRoomQuestion.answer(sockets)))
            }
        }
        subscription.withLock { $0 = made }
    }

    func stop() { subscription.withLock { $0 }?.cancel() }
}

extension Shard {
    /// The sockets of this loop that have joined each of the rooms for the person asked about.
    func evidence(for question: OpenRoomQuestion) -> [[SocketEvidence]] {
        let now = LoopInstant.now()
        return question.places.map { place in
            audience.room(place.roomID).lazy.filter { $0.caller.id == place.userID }
                .prefix(OpenRoomQuestion.maxSockets).map { client in
                    SocketEvidence(
                        age: (now - client.life.heardAt).milliseconds,
                        confirmed: client.life.confirmed(of: question.stream))
                }
        }
    }
}
