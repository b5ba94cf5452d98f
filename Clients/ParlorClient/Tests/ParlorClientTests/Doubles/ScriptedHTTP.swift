import Foundation
import ParlorClient
import Testing

/// A transport that answers the requests that a test expects, in order. Any other request makes the test fail.
actor ScriptedHTTP: HTTPTransport {
    struct Step: Sendable {
        let call: String
        let outcome: Result<HTTPResponse, ClientFailure>
        /// A gate that the answer waits for.
        var gate: Gate?
    }

    private var steps: [Step]
    private(set) var requests: [HTTPRequest] = []

    init(_ steps: [Step]) { self.steps = steps }

    /// The expected requests that have not arrived.
    var missing: [String] { steps.map(\.call) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        requests.append(request)
        let query = request.query.map { "\($0.name)=\($0.value ?? "")" }.joined(separator: "&")
        let call = "\(request.method) \(request.path)\(query.isEmpty ? "" : "?")\(query)"
        guard let step = steps.first, step.call == call else {
            Issue.record("nobody expects \(call)")
            throw ClientFailure.unreadable("nobody expects \(call)")
        }
        steps.removeFirst()
        await step.gate?.pass()
        return try step.outcome.get()
    }
}

extension ScriptedHTTP.Step {
    static func answer(
        _ call: String, _ body: String, status: Int = 200, headers: [String: String] = [:], gate: Gate? = nil
    ) -> Self {
        Self(
            call: call, outcome: .success(.init(status: status, headers: headers, body: Data(body.utf8))), gate: gate)
    }

    static func refusal(_ call: String, _ status: Int, _ code: String, headers: [String: String] = [:]) -> Self {
        .answer(
            call, #"{"error":{"code":"\#(code)","message":"No.","requestId":"r9"}}"#, status: status,
            headers: headers)
    }

    static func offline(_ call: String) -> Self { Self(call: call, outcome: .failure(.offline("no network"))) }
}

/// A gate that blocks callers until it is opened.
actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watchers: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        if isOpen { return }
        await withCheckedContinuation {
            waiting.append($0)
            for watcher in watchers { watcher.resume() }
            watchers = []
        }
    }

    /// Waits until a caller is blocked.
    func isReached() async {
        if waiting.isEmpty { await withCheckedContinuation { watchers.append($0) } }
    }

    func open() {
        isOpen = true
        for one in waiting { one.resume() }
        waiting = []
    }
}

/// Tokens that a test chooses.
actor ListedTokens: TokenProvider {
    private var current: Result<String, ClientFailure>
    private var replacements: [Result<String, ClientFailure>]
    private(set) var refused: [String] = []
    /// Called before a token is replaced.
    private var onReplacing: (@Sendable () async -> Void)?

    init(_ token: String = "t1", replacements: [Result<String, ClientFailure>] = []) {
        current = .success(token)
        self.replacements = replacements
    }

    func before(replacing action: @escaping @Sendable () async -> Void) { onReplacing = action }

    func token() async throws -> String { try current.get() }

    func token(replacing refused: String) async throws -> String {
        self.refused.append(refused)
        await onReplacing?()
        guard !replacements.isEmpty else {
            Issue.record("nobody expects \(refused) to be replaced")
            throw ClientFailure.signedOut
        }
        current = replacements.removeFirst()
        return try current.get()
    }
}
