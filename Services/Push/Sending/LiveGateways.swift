import Contracts
import JSON
import MessageBus
import ServiceKit

/// Asks the gateways that are alive who has which room open there.
final class LiveGateways: Sendable {
    /// The deadline of a reply: a notification need not be on time to the millisecond, but a
    /// gateway that does not reply must not delay others' notifications.
    private static let maxWait: Duration = .seconds(1)

    private let bus: any MessageBus
    private let membership: GatewayMembership
    private let unresponsive: Unavailable

    init(_ bus: any MessageBus, _ membership: GatewayMembership, unresponsive: Unavailable = Unavailable()) {
        self.bus = bus
        self.membership = membership
        self.unresponsive = unresponsive
    }

    /// For each place, the sockets of all gateways that have the room open there. What a gateway that does not answer would say
    /// is not known, and counts as nothing: better woken in vain than not at all.
    func sockets(at members: [OpenRoomQuestion.Member]) async -> [OpenRoomQuestion.Member: [SocketEvidence]] {
        guard !members.isEmpty else { return [:] }
        let question = OpenRoomQuestion(stream: LogReader.stream, members: members)
        // One that is asked though it has died costs nothing.
        let gateways = membership.alive.filter { !unresponsive.contains($0) }
        return await withTaskGroup(of: [[SocketEvidence]]?.self) { group in
            for id in gateways { group.addTask { await self.ask(id, question) } }
            var found: [OpenRoomQuestion.Member: [SocketEvidence]] = [:]
            for await answer in group {
                guard let answer else { continue }
                for (member, sockets) in zip(members, answer) where !sockets.isEmpty {
                    found[member, default: []] += sockets
                }
            }
            return found
        }
    }

    private func ask(_ id: String, _ question: OpenRoomQuestion) async -> [[SocketEvidence]]? {
        let context = BusContext(requestID: "push-open-rooms", timeout: Self.maxWait)
        do {
            let answer = try await bus.request(Subject.openRooms(of: id), question.json, context)
            return question.sockets(in: try Reply(answer).data)
        } catch BusError.disconnected, BusError.noResponders {
            // That was said at once. The bus is away, or the gateway has yet to come back to it: the next turn asks again.
            return nil
        } catch {
            unresponsive.insert(id)
            return nil
        }
    }

    /// Asks again, once the bus is connected again, those that did not answer while the connection was being lost.
    ///
    /// - Returns: for its owner to cancel.
    func listen() -> BusSubscription {
        bus.onStateChange { [unresponsive] state in
            if state == .connected { unresponsive.removeAll() }
        }
    }
}
