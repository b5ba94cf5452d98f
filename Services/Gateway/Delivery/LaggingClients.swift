import ParlorContracts
import ParlorGatewayPresence
import ParlorJSON
import ParlorReactor
import ParlorSocketIO

extension EventDescription {
    package static let presence = EventDescription(
        "room:presence", to: .room, "A person has opened or closed the room.",
        .object(["roomId": .id, "userId": .id, "isPresent": .boolean]))
    package static let typing = EventDescription(
        "message:typing", to: .room, "A person began or stopped typing. The person's own sockets do not get it.",
        .object(["roomId": .id, "userId": .id, "isTyping": .boolean]))
}

/// Sends presence and typing events, which have lower priority than events that cannot be repeated. A client
/// that reads too slowly gets the current state once it has caught up, and never intermediate changes. This object
/// stays on its loop.
final class LaggingClients {
    private let audience: Audience
    private let loop: EventLoop
    private var clients: [ObjectIdentifier: Subscriber] = [:]
    private var timer: LoopTimer?

    /// The interval at which the queues of lagging clients are checked.
    private static let interval: Duration = .milliseconds(100)

    init(of audience: Audience, on loop: EventLoop) {
        self.audience = audience
        self.loop = loop
    }

    /// Sends a change of presence or typing to the room's sockets; later if this gateway is cut off.
    func send(_ change: Presence.Change) {
        let subscribers = audience.room(change.member.roomID)
        guard !subscribers.isEmpty else { return }
        let packet = Self.packet(change)
        for subscriber in subscribers
        where change.kind == .presence || subscriber.caller.id != change.member.userID {
            if subscriber.pendingChanges[change.entry] != nil {
                // The client knows of typing from events alone, so the pending change and this one cancel each other
                // out. A pending change of presence is replaced instead: the client may have seen its state in a Room
                // that it requested.
                subscriber.pendingChanges[change.entry] = change.kind == .presence ? change : nil
                continue
            }
            if audience.isCutOff || !subscriber.socket.send(packet, droppable: true) {
                postpone(change, for: subscriber)
            }
        }
    }

    private func postpone(_ change: Presence.Change, for subscriber: Subscriber) {
        subscriber.pendingChanges[change.entry] = change
        clients[ObjectIdentifier(subscriber)] = subscriber
        guard timer == nil else { return }
        timer = loop.schedule(after: Self.interval) { [weak self] in self?.sendPending() }
    }

    private func sendPending() {
        let lagging = clients.values
        (clients, timer) = ([:], nil)
        for subscriber in lagging where subscriber.isConnected {
            for (entry, change) in subscriber.pendingChanges {
                subscriber.pendingChanges[entry] = nil
                // Nothing is sent about a room that the client has left.
                guard subscriber.hasJoined(change.member.roomID) else { continue }
                guard !audience.isCutOff, subscriber.socket.send(Self.packet(change), droppable: true) else {
                    postpone(change, for: subscriber)
                    break
                }
            }
        }
    }

    private static func packet(_ change: Presence.Change) -> OutgoingPacket {
        let (event, flag) =
            change.kind == .presence ? ("room:presence", "isPresent") : ("message:typing", "isTyping")
        let data = JSONWriter.object {
            $0.member("roomId", change.member.roomID)
            $0.member("userId", change.member.userID)
            $0.member(flag, change.isOn)
        }
        return .event(event, [data])
    }
}
