import Foundation
import ParlorClient
import Testing

/// A server for which the test answers: each call waits until the test has taken it with `next()` and answered it.
/// Calls that need no answer are recorded in `log`.
actor FakeMessageServer: MessageServer {
    enum Request: Equatable, Sendable {
        case page(before: Int? = nil, after: Int? = nil, limit: Int)
        case send(String, tempID: String, room: String = "room")
        case delete(String)
        case read([String])
    }

    struct Call: Sendable {
        let id: Int
        let request: Request
    }

    enum Answer: Sendable {
        case page(Page<Message>)
        case message(Message)
        case done
        case failure(ClientFailure)
    }

    /// The calls of `join`, `leave` and `setTyping`.
    private(set) var log: [String] = [] {
        didSet {
            for listener in listening where listener.count <= log.count { listener.continuation.resume() }
            listening.removeAll { $0.count <= log.count }
        }
    }
    private var listening: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    /// The failure of joins; nil if they succeed.
    private var joinFailure: ClientFailure?
    private var lastID = 0
    private var calls: [Call] = []
    private var answers: [Int: CheckedContinuation<Answer, Never>] = [:]
    private var waiting: [CheckedContinuation<Call, Never>] = []

    /// Waits for the next call.
    func next() async -> Call {
        if !calls.isEmpty { return calls.removeFirst() }
        return await withCheckedContinuation { waiting.append($0) }
    }

    func answer(_ call: Call, _ answer: Answer) { answers.removeValue(forKey: call.id)?.resume(returning: answer) }

    /// Waits for the next call, which has to be this one, and answers it.
    func expect(
        _ request: Request, _ answer: Answer, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let call = await next()
        #expect(call.request == request, sourceLocation: sourceLocation)
        self.answer(call, answer)
    }

    /// Expects that the test has taken all calls.
    func expectNoCall(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(calls.map(\.request) == [], sourceLocation: sourceLocation)
    }

    /// Waits until the log has at least `count` entries, and returns it.
    func log(atLeast count: Int) async -> [String] {
        if log.count < count { await withCheckedContinuation { listening.append((count, $0)) } }
        return log
    }

    func failJoining(_ failure: ClientFailure?) { joinFailure = failure }

    func join(_ roomID: String, keepingUnseen: Bool) throws {
        log.append("join")
        if let joinFailure { throw joinFailure }
    }

    func leave(_ roomID: String) { log.append("leave") }

    func setTyping(_ isTyping: Bool, in roomID: String) { log.append("typing \(isTyping)") }

    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message> {
        switch await ask(.page(before: before, after: after, limit: limit)) {
        case .page(let page): return page
        case .failure(let failure): throw failure
        case .message, .done: throw ClientFailure.unreadable("the test answers a page with something else")
        }
    }

    func send(_ text: String, tempID: String, in roomID: String) async throws -> Message {
        switch await ask(.send(text, tempID: tempID, room: roomID)) {
        case .message(let message): return message
        case .failure(let failure): throw failure
        case .page, .done: throw ClientFailure.unreadable("the test answers a send with something else")
        }
    }

    func deleteMessage(_ id: String, in roomID: String) async throws {
        if case .failure(let failure) = await ask(.delete(id)) { throw failure }
    }

    func markRead(_ ids: [String], in roomID: String) async throws {
        if case .failure(let failure) = await ask(.read(ids)) { throw failure }
    }

    private func ask(_ request: Request) async -> Answer {
        lastID += 1
        let call = Call(id: lastID, request: request)
        return await withCheckedContinuation { continuation in
            answers[call.id] = continuation
            if waiting.isEmpty { calls.append(call) } else { waiting.removeFirst().resume(returning: call) }
        }
    }
}

let offline = ClientFailure.offline("no network")

func refusal(_ code: String, isRetryable: Bool = false, retryAfter: Duration? = nil) -> ClientFailure {
    .refused(Refusal(code: code, message: "no", isRetryable: isRetryable, retryAfter: retryAfter))
}
