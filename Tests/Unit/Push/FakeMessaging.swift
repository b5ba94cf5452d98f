import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorTestSupport
import Synchronization
import Testing

/// Messaging, rooms and a gateway as far as push may ask them: any other request fails the test.
final class FakeMessaging: Sendable {
    private struct State {
        var databaseID = "first"
        var entries: [LogEntry] = []
        var unread: [String: [String: String]] = [:]
        var lastMessage = 0
        var emittedEntries = 0
        var isDown = false
        var hook: (@Sendable () async -> Void)?
    }

    private let state = Mutex(State())
    private let clock: ManualClock

    init(clock: ManualClock) { self.clock = clock }

    /// The log entries that were requested and returned.
    var emittedEntries: Int { state.withLock { $0.emittedEntries } }

    var isDown: Bool {
        get { state.withLock { $0.isDown } }
        set { state.withLock { $0.isDown = newValue } }
    }

    func answer(on bus: any MessageBus) throws {
        for pattern in ["messaging.>", "rooms.>"] {
            try bus.respond(to: pattern, queue: "others") { [self] request in
                let hook = request.subject == "messaging.unread" ? state.withLock { $0.hook } : nil
                guard let hook else { return request.reply(answer(request.subject, request.data)) }
                Task {
                    await hook()
                    request.reply(answer(request.subject, request.data))
                }
            }
        }
    }

    func send(_ text: String, from sender: String, to others: [String], in room: String) -> String {
        state.withLock { state in
            state.lastMessage += 1
            let id = "message-\(state.lastMessage)"
            for other in others { state.unread[other, default: [:]][id] = text }
            let message = JSONWriter.object {
                $0.member(
                    "message",
                    object: {
                        $0.member("id", id)
                        $0.member("senderId", sender)
                        $0.member("sender", object: { $0.member("firstName", sender.uppercased()) })
                        $0.member("text", text)
                    })
            }
            append(
                [Emission(to: .room, "message:new", message)],
                .messageSent(id: id, senderID: sender, senderName: sender.uppercased()), [sender] + others, in: room,
                &state)
            return id
        }
    }

    func read(_ id: String, by person: String) {
        state.withLock { state in
            state.unread[person]?[id] = nil
            let data = JSONWriter.object { $0.member("userId", person) }
            append(
                [Emission(to: .room, "messages:read", data)], .messagesRead(userID: person), [person], in: "room",
                &state)
        }
    }

    func delete(_ id: String) {
        state.withLock { state in
            let unread = state.unread.keys.filter { state.unread[$0]?.removeValue(forKey: id) != nil }
            append(
                unread.map { Emission(to: .person($0), "room:badges", .emptyObject, composition: .badges) },
                .messageDeleted(id: id), ["ada", "ben"], in: "room", &state)
        }
    }

    func whenAsked(_ hook: @escaping @Sendable () async -> Void) { state.withLock { $0.hook = hook } }

    func forgetLog(before seq: Int) { state.withLock { $0.entries.removeAll { $0.seq < seq } } }

    /// Replaces the log, as a restored backup does.
    func becomeAnother() { state.withLock { $0.databaseID = "another" } }

    private func append(
        _ emissions: [Emission], _ fact: Fact, _ people: [String], in room: String, _ state: inout State
    ) {
        state.entries.append(
            LogEntry(
                seq: (state.entries.last?.seq ?? 0) + 1, at: clock.now(), roomID: room, participants: people,
                emissions: emissions, fact: fact))
    }

    // MARK: Answering

    private func answer(_ subject: String, _ data: JSONValue) -> JSONValue {
        state.withLock { state in
            if state.isDown { return ServiceError.unavailable("Messaging").json }
            switch subject {
            case "messaging.events":
                let page = page(data, state)
                state.emittedEntries += page.entries.count
                return Reply(.ok, page.json).json
            case "messaging.unread": return Reply(.ok, unread(data, state)).json
            case "rooms.names":
                let count = data["roomIds"]?.array?.count ?? 0
                let names = [String](repeating: "Kitchen", count: count)
                return Reply(
                    .ok,
                    JSONWriter.object {
                        $0.name("names")
                        $0.array(of: names) { $0.string($1) }
                    }
                ).json
            default:
                Issue.record("an unexpected request: \(subject)")
                return ServiceError(.internal, "unexpected").json
            }
        }
    }

    private func page(_ data: JSONValue, _ state: State) -> LogPage {
        let since = data["since"]?.int ?? 0
        let head =
            state.entries.last.map { LogPosition(after: $0, in: state.databaseID) }
            ?? LogPosition(databaseID: state.databaseID, seq: 0, digest: 0)
        let known = state.entries.first { $0.seq == since }
        let isKnown = since == 0 ? state.entries.first?.seq ?? 1 == 1 : known?.digest == data["digest"]?.int
        // Few, so that there is always more than one page.
        let entries = data["limit"]?.int == 0 ? [] : state.entries.filter { $0.seq > since }.prefix(3)
        return LogPage(
            head: head, oldest: state.entries.first?.seq ?? 1, isKnown: isKnown, entries: Array(entries),
            through: entries.last?.seq ?? since)
    }

    private func unread(_ data: JSONValue, _ state: State) -> JSONValue {
        let people = data["people"]?.array ?? []
        return JSONWriter.object { json in
            json.name("people")
            json.array(of: people) { json, asked in
                let unread = state.unread[asked["userId"]?.string ?? ""] ?? [:]
                let ids = asked["messageIds"]?.array?.compactMap(\.string) ?? []
                json.object {
                    $0.member("unread", unread.count)
                    $0.name("messages")
                    $0.array(of: ids) { json, id in
                        guard let text = unread[id] else { return json.null() }
                        json.object {
                            // There is one room, so the id ends in the message's number.
                            if let seq = id.split(separator: "-").last.flatMap({ Int($0) }) { $0.member("seq", seq) }
                            $0.member("text", text)
                        }
                    }
                }
            }
        }
    }
}
