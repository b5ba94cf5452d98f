import Contracts
import Edge
import JSON
import MessageBus
import Reactor
import ServiceKit
import SocketIO

/// One loop's share of the gateway: its clients, and what reaches them.
///
/// Requests are in `Shard+Requests.swift`, sockets' events in `Shard+Events.swift`, joining and leaving in
/// `Shard+Rooms.swift`.
actor Shard {
    nonisolated let loop: EventLoop
    nonisolated let context: GatewayContext
    var audience = Audience()
    /// How far each stream has been fanned out to this loop's sockets.
    private var positions: [String: Int] = [:]
    /// Answers that wait for a stream to get there.
    private var held: [(position: StreamPosition, continuation: CheckedContinuation<Void, Never>, timer: LoopTimer)] =
        []
    /// The last composed event of each person: the next waits for it, so that their order is the log's.
    private var composing: [String: (id: Int, task: Task<Void, Never>)] = [:]
    private var lastComposing = 0
    private var lastClient = 0
    /// Numbers the events of this loop's sockets, for the request ids in logs.
    var lastEvent = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// An answer is not held back for longer: the stream may be stuck, but what was written is written.
    static let maxHold: Duration = .seconds(2)

    init(on loop: EventLoop, _ context: GatewayContext) {
        self.loop = loop
        self.context = context
    }

    func makeClientID() -> String {
        lastClient += 1
        return "\(loop.index).\(lastClient)"
    }

    // MARK: Events to clients

    /// Sends what a stream brought. A message is written to each socket in turn, so that the loop joins a turn's messages
    /// to a socket into one write, and copies a message that goes to many once.
    func deliver(_ broadcasts: [Broadcast]) {
        for broadcast in broadcasts {
            for item in broadcast.items {
                if let packet = item.packet {
                    send(packet, to: item.emission.audience, of: broadcast)
                } else {
                    compose(item.emission, of: broadcast)
                }
            }
            positions[broadcast.position.stream] = broadcast.position.seq
        }
        if !held.isEmpty { release() }
    }

    private func send(_ packet: OutgoingPacket, to recipients: Emission.Audience, of broadcast: Broadcast) {
        switch recipients {
        case .room:
            for client in audience.room(broadcast.roomID) { client.socket.send(packet) }
        case .person(let id):
            for client in audience.person(id) { client.socket.send(packet) }
        case .everyone:
            switch context.settings.globalScope {
            case .everyone:
                for client in audience.everyone { client.socket.send(packet) }
            case .participants:
                for id in broadcast.participants { for client in audience.person(id) { client.socket.send(packet) } }
            }
        }
    }

    /// A person came or went, or began or stopped typing. Of use only at once: shed for a client that is behind.
    func deliver(_ change: Presence.Change) {
        let clients = audience.room(change.place.roomID)
        guard !clients.isEmpty else { return }
        let (event, flag) =
            change.kind == .presence ? ("room:presence", "isPresent") : ("message:typing", "isTyping")
        let data = JSONWriter.object {
            $0.member("roomId", change.place.roomID)
            $0.member("userId", change.place.userID)
            $0.member(flag, change.isOn)
        }
        let packet = OutgoingPacket.event(event, [data])
        for client in clients where change.kind == .presence || client.caller.id != change.place.userID {
            client.socket.send(packet, droppable: true)
        }
    }

    /// Fills in what only a gateway can, then sends it to the person it is for.
    private func compose(_ emission: Emission, of broadcast: Broadcast) {
        guard case .person(let id) = emission.audience, let caller = audience.person(id).first?.caller else { return }
        let earlier = composing[id]?.task
        lastComposing += 1
        let number = lastComposing
        let task = Task {
            await earlier?.value
            if let data = await composed(emission, roomID: broadcast.roomID, for: caller) {
                let packet = OutgoingPacket.event(emission.event, [data])
                for client in audience.person(id) { client.socket.send(packet) }
            }
            if composing[id]?.id == number { composing[id] = nil }
        }
        composing[id] = (number, task)
    }

    private func composed(_ emission: Emission, roomID: String, for caller: Caller) async -> JSONValue? {
        let composer = context.composer
        switch emission.composition {
        case .badges: return await composer.badges(given: emission.data, roomID: roomID, for: caller.id)
        case .room:
            do throws(ServiceError) {
                let base = try await composer.base(of: roomID, as: caller, requestID: "compose")
                let rooms = await composer.compose([base], for: caller.id, requestID: "compose").rooms
                return rooms.first.map { room in JSONWriter.object { $0.member("room", room.json) } }
            } catch {
                context.log.warning(
                    "an event could not be composed", ["event": emission.event, "code": error.code.rawValue])
                return nil
            }
        case nil: return emission.data
        }
    }

    // MARK: Answers after their echo

    /// Returns when this loop's sockets have been sent what stands at that position: so what a client caused reaches it
    /// before the answer does.
    func fannedOut(_ position: StreamPosition?) async {
        guard let position, positions[position.stream] ?? 0 < position.seq else { return }
        context.directory.expect(position)
        await withCheckedContinuation { continuation in
            let timer = loop.schedule(after: Self.maxHold) { [weak self] in
                self?.assumeIsolated { $0.giveUp(on: position) }
            }
            held.append((position, continuation, timer))
        }
    }

    private func release() {
        var index = 0
        while index < held.count {
            let (position, continuation, timer) = held[index]
            if positions[position.stream] ?? 0 >= position.seq {
                held.remove(at: index)
                timer.cancel()
                continuation.resume()
            } else {
                index += 1
            }
        }
    }

    private func giveUp(on position: StreamPosition) {
        guard let index = held.firstIndex(where: { $0.position == position }) else { return }
        context.log.warning("an answer comes before its event", ["stream": position.stream, "seq": position.seq])
        held.remove(at: index).continuation.resume()
    }
}
