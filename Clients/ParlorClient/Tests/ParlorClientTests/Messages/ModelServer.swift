import Foundation
import ParlorClientTesting

@testable import ParlorClient

/// One room as the contract describes it, on a network that a test controls. A call is answered, handled without an
/// answer, or lost. Answers can be delayed. Events wait until the test delivers them.
@MainActor
final class ModelServer {
    typealias Fate = Interleaving.Fate

    /// A request of the client.
    enum Request: Equatable {
        case page
        /// Sends this text.
        case send(String)
        /// Deletes the message with this id.
        case delete(String)
    }

    /// A call about which the test has not decided yet.
    private struct Call {
        let request: Request
        let work: @MainActor () -> Void
        let answer: CheckedContinuation<Void, any Error>
    }

    private(set) var messages: [Message] = []
    /// The ids of messages by their `tempID`, including deleted messages.
    private(set) var idByTempID: [String: String] = [:]
    /// The texts of own messages that have arrived, including deleted ones.
    private(set) var arrived: Set<String> = []
    private var lastSeq = 0
    private var calls: [Call] = []
    private var held: [(request: Request, answer: CheckedContinuation<Void, any Error>)] = []
    /// The events that the client has not got yet. If it is not connected, they are replayed later.
    var events: [RoomEvent] = []
    /// The events since the client left the room, which a join replays.
    private var sinceLeave: [RoomEvent] = []
    private(set) var keepsEvents = true
    private var isJoined = false

    var hasCalls: Bool { !calls.isEmpty || !held.isEmpty }
    /// The requests of the pending calls, the oldest first.
    var requests: [Request] { calls.map(\.request) }

    // MARK: - What others do

    func write(_ text: String, from sender: String, tempID: String? = nil) -> Message {
        if let tempID, let id = idByTempID[tempID], let first = messages.first(where: { $0.id == id }) { return first }
        lastSeq += 1
        let message = sample(lastSeq, from: sender, text: text, tempID: tempID)
        messages.append(message)
        if sender == "me" { arrived.insert(text) }
        if let tempID { idByTempID[tempID] = message.id }
        emit(.messageNew(message))
        return message
    }

    func delete(_ id: String) {
        guard let index = messages.firstIndex(where: { $0.id == id }) else { return }
        messages.remove(at: index)
        emit(.messageDeleted(roomID: "room", messageID: id, deletedBy: "ann"))
    }

    func read(_ id: String, by user: String) {
        guard let index = messages.firstIndex(where: { $0.id == id }), messages[index].senderID != user,
            messages[index].readBy.isEmpty
        else { return }
        messages[index].readBy.append(receipt(user))
        messages[index].isRead = true
        emit(.messagesRead(roomID: "room", userID: user, messageIDs: [id], readAt: start))
    }

    private func emit(_ event: RoomEvent) {
        guard keepsEvents else { return }
        if isJoined { events.append(event) } else { sinceLeave.append(event) }
    }

    // MARK: - What the client asks

    fileprivate func join() {
        isJoined = true
        events += sinceLeave
        sinceLeave = []
    }

    fileprivate func leave() { isJoined = false }

    func page(before: Int?, after: Int?, limit: Int) -> Page<Message> {
        if let after {
            let found = messages.filter { $0.seq > after }
            return Page(items: Array(found.prefix(limit)), next: found.count > limit ? "more" : nil)
        }
        let found = messages.filter { $0.seq < before ?? .max }
        return Page(items: found.suffix(limit), next: found.count > limit ? "more" : nil)
    }

    func send(_ text: String, tempID: String) -> Result<Message, ClientFailure> {
        if let id = idByTempID[tempID], !messages.contains(where: { $0.id == id }) {
            return .failure(refusal("message_not_found"))
        }
        return .success(write(text, from: "me", tempID: tempID))
    }

    /// Waits for the test's decision, then returns the result of `work`, or throws.
    func wait<Value: Sendable>(
        _ request: Request, _ work: @escaping @MainActor () -> Value
    ) async throws -> Value {
        let result = Box<Value>()
        try await withCheckedThrowingContinuation { answer in
            calls.append(Call(request: request, work: { result.value = work() }, answer: answer))
        }
        guard let value = result.value else { throw offline }
        return value
    }

    @MainActor
    private final class Box<Value: Sendable> {
        var value: Value?
    }

    // MARK: - What the test decides

    /// Ends the connection.
    ///
    /// - Parameter keepsEvents: true if the next connection replays the events until then.
    func loseConnection(keepsEvents: Bool) {
        self.keepsEvents = keepsEvents
        if !keepsEvents { forgetEvents() }
    }

    func connect() { keepsEvents = true }

    func forgetEvents() { (events, sinceLeave) = ([], []) }

    /// Decides about the oldest call with this request, if there is one.
    func deal(_ fate: Fate, to request: Request) {
        guard let index = calls.firstIndex(where: { $0.request == request }) else { return }
        deal(fate, at: index)
    }

    /// Decides about one of the calls for pages, if there are any.
    func dealPage(_ fate: Fate, choice: Int) {
        let indices = calls.indices.filter { calls[$0].request == .page }
        if !indices.isEmpty { deal(fate, at: indices[choice % indices.count]) }
    }

    private func deal(_ fate: Fate, at index: Int) {
        let call = calls.remove(at: index)
        switch fate {
        case .answered:
            call.work()
            call.answer.resume()
        case .held:
            call.work()
            held.append((call.request, call.answer))
        case .answerLost:
            call.work()
            call.answer.resume(throwing: offline)
        case .lost: call.answer.resume(throwing: offline)
        case .refused: call.answer.resume(throwing: refusal("invalid_field"))
        }
    }

    /// Delivers one of the held answers, if there are any.
    func release(choice: Int) {
        if !held.isEmpty { held.remove(at: choice % held.count).answer.resume() }
    }

    func releaseAnswersToSending() {
        let answers = held.filter { $0.request.isSending }
        held.removeAll { $0.request.isSending }
        for (_, answer) in answers { answer.resume() }
    }

    /// Ends the client's run. Its pending calls are not handled, and fail.
    func end(_ link: ModelLink) {
        link.isDead = true
        isJoined = false
        for call in calls { call.answer.resume(throwing: offline) }
        calls = []
        for (_, answer) in held { answer.resume(throwing: offline) }
        held = []
        forgetEvents()
        connect()
    }
}

extension ModelServer.Request {
    var isSending: Bool {
        if case .send = self { true } else { false }
    }
}

/// The connection of one run of the app to the server.
@MainActor
final class ModelLink: MessageServer {
    private let server: ModelServer
    var isDead = false

    init(_ server: ModelServer) { self.server = server }

    func join(_ roomID: String, keepingUnseen: Bool) {
        if !isDead { server.join() }
    }
    func leave(_ roomID: String) {
        if !isDead { server.leave() }
    }
    func setTyping(_ isTyping: Bool, in roomID: String) {}
    func markRead(_ ids: [String], in roomID: String) {}

    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message> {
        try await ask(.page) { $0.page(before: before, after: after, limit: limit) }
    }

    func send(_ text: String, tempID: String, in roomID: String) async throws -> Message {
        try await ask(.send(text)) { $0.send(text, tempID: tempID) }.get()
    }

    func deleteMessage(_ id: String, in roomID: String) async throws {
        try await ask(.delete(id)) { $0.delete(id) }
    }

    private func ask<Value: Sendable>(
        _ request: ModelServer.Request, _ work: @escaping @MainActor (ModelServer) -> Value
    ) async throws -> Value {
        guard !isDead else { throw offline }
        return try await server.wait(request) { [server] in work(server) }
    }
}
