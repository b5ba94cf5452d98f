import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit

/// Asks the gateways that are alive for the people who have rooms open there.
final class LiveGateways: Sendable {
    /// The time limit of a reply. A notification need not be punctual to the millisecond, but a gateway that
    /// does not reply must not delay others' notifications.
    private static let maxWait: Duration = .seconds(1)

    private let bus: any MessageBus
    private let membership: GatewayMembership
    private let unresponsive: Unavailable

    init(_ bus: any MessageBus, _ membership: GatewayMembership, unresponsive: Unavailable = Unavailable()) {
        self.bus = bus
        self.membership = membership
        self.unresponsive = unresponsive
    }

    /// Returns, for each member, the sockets of all gateways that have the room open. A gateway that does not
    /// reply counts as having none: an unnecessary notification is better than a missing one.
    func sockets(at members: [OpenRoomsRequest.Member]) async -> [OpenRoomsRequest.Member: [SocketEvidence]] {
        guard !members.isEmpty else { return [:] }
        let request = OpenRoomsRequest(log: .messaging, members: members)
        // Asking a gateway that has died costs nothing.
        let gateways = membership.alive.filter { !unresponsive.contains($0) }
        return await withTaskGroup(of: [[SocketEvidence]]?.self) { group in
            for id in gateways { group.addTask { await self.ask(id, request) } }
            var found: [OpenRoomsRequest.Member: [SocketEvidence]] = [:]
            for await reply in group {
                guard let reply else { continue }
                for (member, sockets) in zip(members, reply) where !sockets.isEmpty {
                    found[member, default: []] += sockets
                }
            }
            return found
        }
    }

    private func ask(_ id: String, _ request: OpenRoomsRequest) async -> [[SocketEvidence]]? {
        let context = BusContext(requestID: "push-open-rooms", timeout: Self.maxWait)
        do {
            let reply = try await bus.request(Subject.openRooms(of: id), request.json, context)
            return request.sockets(in: try Reply(reply).data)
        } catch BusError.disconnected, BusError.noResponders {
            // The bus reports these errors at once, so the gateway is not set aside. The next turn asks again: the
            // bus or the gateway may have reconnected by then.
            return nil
        } catch {
            unresponsive.insert(id)
            return nil
        }
    }

    /// Starts to ask all gateways again whenever the bus has reconnected. Those that did not reply may have been
    /// cut off by the lost connection.
    ///
    /// - Returns: the subscription, for its owner to cancel.
    func listen() -> BusSubscription {
        bus.onStateChange { [unresponsive] state in
            if state == .connected { unresponsive.removeAll() }
        }
    }
}
