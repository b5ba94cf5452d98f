import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorSecurity
import ParlorServiceClient

/// Sends the requests of a demo's steps to services, each at its time.
struct DemoWriter {
    private struct Room {
        let id: String
        /// The messages that each person has not read.
        var unread: [String: [String]]
    }

    let bus: any MessageBus
    let clock: DemoClock

    /// - Returns: the people by their usernames, and the password of all of them.
    func write(_ steps: [DemoStory.Step]) async throws -> (people: [String: Caller], password: String) {
        let password = Base64URL.encode(SystemRandomness().bytes(9)).replacing("_", with: "-")
        var people: [String: Caller] = [:]
        var rooms: [String: Room] = [:]
        let inOrder = steps.enumerated().sorted {
            ($1.element.minutesAgo, $0.offset) < ($0.element.minutesAgo, $1.offset)
        }
        for (_, step) in inOrder {
            clock.set(minutesAgo: step.minutesAgo)
            switch step.action {
            case .register(let username, let firstName):
                let reply = try await ask("accounts.register", nil) {
                    $0.member("username", username)
                    $0.member("password", password)
                    $0.member("firstName", firstName)
                }
                guard let caller = reply["user"].flatMap(Caller.init) else { throw ServiceError.noReply }
                people[username] = caller
            case .open(let key, let owner, let others, let name):
                let ids = others.compactMap { people[$0]?.id }
                let room = try await ask("rooms.create", people[owner]) {
                    if ids.count == 1 { $0.member("otherUserId", ids[0]) } else { $0.member("participantIds", ids) }
                    if let name { $0.member("name", name) }
                }
                let everyone = [owner] + others
                rooms[key] = Room(
                    id: room["id"]?.string ?? "", unread: Dictionary(uniqueKeysWithValues: everyone.map { ($0, []) }))
            case .say(let key, let sender, let text):
                guard let room = rooms[key] else { continue }
                let message = try await ask("messaging.send", people[sender]) {
                    $0.member("roomId", room.id)
                    $0.member("text", text)
                }
                for reader in room.unread.keys where reader != sender {
                    rooms[key]?.unread[reader]?.append(message["id"]?.string ?? "")
                }
            case .read(let key, let reader):
                guard let room = rooms[key], let ids = room.unread[reader], !ids.isEmpty else { continue }
                _ = try await ask("messaging.read", people[reader]) {
                    $0.member("roomId", room.id)
                    $0.member("messageIds", array: { json in for id in ids { json.string(id) } })
                }
                rooms[key]?.unread[reader] = []
            case .put(let key, let maker, let element):
                guard let room = rooms[key] else { continue }
                _ = try await ask("elements.create", people[maker]) {
                    $0.member("roomId", room.id)
                    element.write(to: &$0)
                }
            }
        }
        return (people, password)
    }

    private func ask(
        _ subject: String, _ person: Caller?, _ write: (inout JSONWriter) -> Void
    ) async throws -> JSONValue {
        let context = BusContext(requestID: "demo", caller: person?.json, timeout: .seconds(30))
        return try await bus.ask(subject, JSONWriter.object(write), context, of: "The demo").data
    }
}
