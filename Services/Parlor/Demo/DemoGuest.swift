import ParlorContracts
import ParlorEventLog
import ParlorGatewayPresence
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit

/// The third person of a demo. When someone writes in a room, it opens the room, reads, types, and answers.
///
/// It has no socket. For the gateway it is a person on another gateway, so no code there is special to demos.
actor DemoGuest: Component {
    private static let reading: Duration = .milliseconds(900)
    private static let typing: Duration = .milliseconds(1800)
    private static let staying: Duration = .seconds(20)

    nonisolated var address: String? { nil }
    private let person: Caller
    private nonisolated let bus: any MessageBus
    private nonisolated let presence: Presence
    private var answered = 0
    /// The visits by room. A message that arrives during an answer gets no answer of its own.
    private var visits: [String: Task<Void, Never>] = [:]
    private var subscriptions: [BusSubscription] = []

    init(_ person: Caller, in node: Node) {
        self.person = person
        bus = node.bus
        presence = Presence(
            gatewayID: "demo", bus: node.bus, on: node.group.loops[0], log: node.log.labelled("demo")
        ) { _ in }
    }

    func start() throws {
        try presence.start()
        // It counts as a gateway, and has no socket that could get an event.
        try bus.respond(to: Subject.gatewayFence(of: "demo"), queue: "demo") { $0.reply(Reply()) }
        subscriptions = try [Subject.log(of: .messaging), Subject.logs(of: LogID.messaging.service)].map { logs in
            try bus.subscribe(logs) { [weak self] message in
                guard let self, let entry = message.payload as? LogEntry, let sent = entry.fact?.messageSent,
                    sent.senderID != person.id, entry.participants.contains(person.id)
                else { return }
                Task { await self.visit(entry.roomID, messageID: sent.id) }
            }
        }
    }

    private func visit(_ roomID: String, messageID: String) async {
        let isAnswering = visits[roomID] != nil
        if !isAnswering { visits[roomID] = Task { await answer(in: roomID) } }
        await presence.join(RoomMember(roomID: roomID, userID: person.id), socketID: roomID)
        _ = try? await ask("messaging.read", roomID) {  // a demo may keep an unread message
            $0.member("messageIds", array: { $0.string(messageID) })
        }
    }

    private func answer(in roomID: String) async {
        let member = RoomMember(roomID: roomID, userID: person.id)
        do {
            try await Task.sleep(for: Self.reading)
            await presence.setTyping(true, member, socketID: roomID)
            try await Task.sleep(for: Self.typing)
            let text = DemoStory.answers[answered % DemoStory.answers.count]
            answered += 1
            _ = try await ask("messaging.send", roomID) { $0.member("text", text) }
        } catch {
            // The demo is ending, or the room does not exist any more.
        }
        await presence.setTyping(false, member, socketID: roomID)
        visits[roomID] = nil
        try? await Task.sleep(for: Self.staying)  // cancelled, it leaves at once
        if visits[roomID] == nil { await presence.leave(member, socketID: roomID) }
    }

    private func ask(_ subject: String, _ roomID: String, _ write: (inout JSONWriter) -> Void) async throws -> JSONValue
    {
        let data = JSONWriter.object {
            $0.member("roomId", roomID)
            write(&$0)
        }
        return try await bus.ask(
            subject, data, BusContext(requestID: "demo", caller: person.json), of: "The demo"
        ).data
    }

    func isHealthy() async -> Bool { true }

    func stop(within deadline: Duration) async {
        for subscription in subscriptions { subscription.cancel() }
        for visit in visits.values { visit.cancel() }
        await presence.stop()
    }
}
