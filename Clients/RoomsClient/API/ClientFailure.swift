import Foundation

/// Why something did not succeed.
public enum ClientFailure: Error, Hashable, Sendable {
    /// The server was not reached, something else has answered in its place, or the connection was lost before its answer: whether
    /// it did what was asked is not known.
    case offline(String)
    /// The server has answered, and refuses.
    case refused(Refusal)
    /// The server's answer is not what the contract says.
    case unreadable(String)
    /// There is nobody signed in, or no longer.
    case signedOut

    /// Whether trying the same again later may succeed.
    public var isRetryable: Bool {
        switch self {
        case .offline: true
        case .refused(let refusal): refusal.isRetryable
        case .unreadable, .signedOut: false
        }
    }

    /// What the server has asked to wait.
    var retryAfter: Duration? {
        guard case .refused(let refusal) = self else { return nil }
        return refusal.retryAfter
    }

    /// Does what may throw anything, an app's own transport or tokens for one, and throws `ClientFailure` or `CancellationError`.
    static func translating<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let failure as ClientFailure {
            throw failure
        } catch {
            try Task.checkCancellation()
            throw ClientFailure.offline("\(error)")
        }
    }
}

/// The server's own words for a failure.
public struct Refusal: Error, Hashable, Sendable {
    /// As docs/api.md lists them, `room_not_found` for one; new ones may come.
    public var code: String
    /// For a person.
    public var message: String
    public var isRetryable: Bool
    /// Of the HTTP answer; nil for a socket's.
    public var status: Int?
    public var requestID: String?
    /// What the server asked to wait.
    public var retryAfter: Duration?

    public init(
        code: String, message: String, isRetryable: Bool = false, status: Int? = nil, requestID: String? = nil,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.message = message
        self.isRetryable = isRetryable
        self.status = status
        self.requestID = requestID
        self.retryAfter = retryAfter
    }
}
