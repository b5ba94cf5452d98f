import ParlorContracts
import ParlorGatewayPresence
import ParlorMessageBus
import ParlorRoomViews
import ParlorServiceKit
import Synchronization

/// Confirms changes of rooms' people: when it replies, no event of the room reaches who has left, on any loop.
///
/// It confirms none before this gateway has caught up with Rooms' log: it would not learn that the change is complete, and
/// would not know a fence that was held up on its way.
package final class FenceResponder: Sendable {
    private let gatewayID: String
    private let bus: any MessageBus
    private let fanout: Fanout
    private let presence: Presence
    private let memberships: Memberships
    private let cache: RoomListCache
    private let subscription = Mutex<BusSubscription?>(nil)

    package init(
        gatewayID: String, bus: any MessageBus, fanout: Fanout, presence: Presence, memberships: Memberships,
        cache: RoomListCache
    ) {
        self.gatewayID = gatewayID
        self.bus = bus
        self.fanout = fanout
        self.presence = presence
        self.memberships = memberships
        self.cache = cache
    }

    package func start() throws(BusError) {
        let made = try bus.respond(to: Subject.gatewayFence(of: gatewayID), queue: "gateway") { [self] request in
            guard let change = request.data["change"].flatMap(PeopleChange.init) else {
                return request.reply(ServiceError.wrongType("change", "a change of people"))
            }
            Task {
                if await confirm(change) {
                    request.reply(Reply())
                } else {
                    request.reply(ServiceError.unavailable("This gateway"))
                }
            }
        }
        subscription.withLock { $0 = made }
    }

    package func stop() { subscription.withLock { $0 }?.cancel() }

    /// - Returns: false if it is not confirmed.
    private func confirm(_ change: PeopleChange) async -> Bool {
        guard await fanout.areCaughtUp() else { return false }
        memberships.forget(change.roomID, below: change.version)
        let left = change.left.map(\.userID)
        for userID in left { cache.noteVisit(to: "", by: userID) }
        await withDiscardingTaskGroup { group in
            for delivery in fanout.loops {
                group.addTask {
                    if await delivery.apply(change) { await delivery.drain(left) }
                }
            }
        }
        // A person may type in a room without having joined it.
        for userID in left { await presence.endTyping(RoomMember(roomID: change.roomID, userID: userID)) }
        return true
    }
}
