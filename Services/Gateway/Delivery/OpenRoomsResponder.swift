import ParlorContracts
import ParlorMessageBus
import ParlorServiceKit
import Synchronization

/// Answers requests for who has a room open on this gateway, and how recent that information is. Services use
/// it to decide whether to notify a phone.
package final class OpenRoomsResponder: Sendable {
    private let gatewayID: String
    private let bus: any MessageBus
    private let fanout: Fanout
    private let subscription = Mutex<BusSubscription?>(nil)

    package init(gatewayID: String, bus: any MessageBus, fanout: Fanout) {
        self.gatewayID = gatewayID
        self.bus = bus
        self.fanout = fanout
    }

    package func start() throws(BusError) {
        let made = try bus.respond(to: Subject.openRooms(of: gatewayID), queue: "gateway") { [fanout] request in
            guard let asked = OpenRoomsRequest(request.data) else {
                return request.reply(ServiceError.wrongType("rooms", "a list of rooms and people"))
            }
            Task {
                var sockets = [[SocketEvidence]](repeating: [], count: asked.members.count)
                for delivery in fanout.loops {
                    for (index, found) in await delivery.evidence(for: asked).enumerated() {
                        sockets[index] += found
                    }
                }
                request.reply(Reply(.ok, OpenRoomsRequest.reply(sockets)))
            }
        }
        subscription.withLock { $0 = made }
    }

    package func stop() { subscription.withLock { $0 }?.cancel() }
}
