import Foundation
import RoomsClientTesting

@testable import RoomsClient

/// One room as the contract describes it, on a network that a seed controls. A call is handled and answered,
/// handled without an answer, or lost. An answer may be delayed, and events wait until they are let through.
@MainActor
final class ModelServer {
    enum Fate: CaseIterable {
        case answered
        case held
        case answerLost
        case lost
        case refused
    }

    /// A pending call.
    private struct Call {
        let work: @MainActor () -> Void
        /// The message to send; nil for any other call.
        let text: String?
        let link: ModelLink
        let answer: CheckedContinuation<Void, any Error>
    }

    private(set) var messages: [Message] = []
    /// The message id of each `tempId`, including deleted messages.
    private(set) var idByTempID: [String: String] = [:]
    /// The texts of own messages in the order of arrival, including deleted and earlier refused ones.
    private(set) var arrived: [String] = []
    private(set) var refused: Set<String> = []
    private var lastSeq = 0
    private var calls: [Call] = []
    private var held: [CheckedContinuation<Void, any Error>] = []
    /// The events for the client, sent while it is connected, or replayed later.
    var events: [RoomEvent] = []
    /// The events since the client's last leave: a join replays them.
    private var sinceLeave: [RoomEvent] = []
    private(set) var keepsEvents = true
    private var isJoined = false

    var hasCalls: Bool { !calls.isEmpty || !held.isEmpty }

    // MARK: - What others do

    func write(_ text: String, from sender: String, tempID: String? = nil) -> Message {
        if let tempID, let id = idByTempID[tempID], let first = messages.first(where: { $0.id == id }) { return first }
        lastSeq += 1
        let message = sample(lastSeq, from: sender, text: text, tempID: tempID)
        messages.append(message)
        if sender == "me" { arrived.append(text) }
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
        guard let index = messages.firstIndex(where: { $0.id == id }), messages[index].senderId != user,
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

    /// Waits for the seed's decision, then returns the result of `work`, or throws.
    func wait<Value: Sendable>(
        for link: ModelLink, sending text: String?, _ work: @escaping @MainActor () -> Value
    ) async throws -> Value {
        let result = Box<Value>()
        try await withCheckedThrowingContinuation { answer in
            calls.append(Call(work: { result.value = work() }, text: text, link: link, answer: answer))
        }
        guard let value = result.value else { throw offline }
        return value
    }

    @MainActor
    private final class Box<Value: Sendable> {
        var value: Value?
    }

    // MARK: - What the seed decides

    /// - Parameter keepsEvents: true if the next connection brings the events meanwhile.
    func loseConnection(keepsEvents: Bool) {
        self.keepsEvents = keepsEvents
        if !keepsEvents { forgetEvents() }
    }

    func connect() { keepsEvents = true }

    func forgetEvents() { (events, sinceLeave) = ([], []) }

    /// Handles one call, if there is any.
    func deal(_ fate: Fate, using random: inout SeededGenerator) {
        guard let index = calls.indices.randomElement(using: &random) else { return }
        let call = calls.remove(at: index)
        switch (fate, call.text) {
        case (.refused, let text?):
            refused.insert(text)
            call.answer.resume(throwing: refusal("invalid_field"))
        case (.answered, _), (.refused, nil):
            call.work()
            call.answer.resume()
        case (.held, _):
            call.work()
            held.append(call.answer)
        case (.answerLost, _):
            call.work()
            call.answer.resume(throwing: offline)
        case (.lost, _): call.answer.resume(throwing: offline)
        }
    }

    func release(using random: inout SeededGenerator) {
        guard let index = held.indices.randomElement(using: &random) else { return }
        held.remove(at: index).resume()
    }

    /// Ends the client. Its calls may still be handled, but get no answers.
    func end(_ link: ModelLink, using random: inout SeededGenerator) {
        link.isDead = true
        isJoined = false
        for call in calls {
            if Bool.random(using: &random) { call.work() }
            call.answer.resume(throwing: offline)
        }
        calls = []
        for answer in held { answer.resume(throwing: offline) }
        held = []
        forgetEvents()
        connect()
    }
}

/// The connection of one app run to the server.
@MainActor
final class ModelLink: MessageServer {
    private let server: ModelServer
    var isDead = false

    init(_ server: ModelServer) { self.server = server }

    func join(_ roomID: String) {
        if !isDead { server.join() }
    }
    func leave(_ roomID: String) {
        if !isDead { server.leave() }
    }
    func setTyping(_ isTyping: Bool, in roomID: String) {}
    func markRead(_ ids: [String], in roomID: String) {}

    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message> {
        try await ask { $0.page(before: before, after: after, limit: limit) }
    }

    func send(_ text: String, tempID: String, in roomID: String) async throws -> Message {
        try await ask(sending: text) { $0.send(text, tempID: tempID) }.get()
    }

    func deleteMessage(_ id: String, in roomID: String) async throws {
        try await ask { $0.delete(id) }
    }

    private func ask<Value: Sendable>(
        sending text: String? = nil, _ work: @escaping @MainActor (ModelServer) -> Value
    ) async throws -> Value {
        guard !isDead else { throw offline }
        return try await server.wait(for: self, sending: text) { [server] in work(server) }
    }
}
