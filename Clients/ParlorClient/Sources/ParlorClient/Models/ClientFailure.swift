import Foundation

/// The reason why a call failed.
public enum ClientFailure: Error, Hashable, Sendable {
    /// The server was not reached, something else answered in its place, or the connection was lost before
    /// the answer. The server may have handled the request.
    case offline(String)
    /// The server refuses the request.
    case refused(Refusal)
    /// The server's answer does not follow the contract.
    case unreadable(String)
    /// Nobody is signed in.
    case signedOut

    /// True if the same call may succeed later.
    public var isRetryable: Bool {
        switch self {
        case .offline: true
        case .refused(let refusal): refusal.isRetryable
        case .unreadable, .signedOut: false
        }
    }

    /// The pause that the server asked for.
    var retryAfter: Duration? {
        guard case .refused(let refusal) = self else { return nil }
        return refusal.retryAfter
    }

    /// Runs a body that may throw anything, such as the errors of an app's own transport. Throws only `ClientFailure`
    /// or `CancellationError`.
    static func translating<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let failure as ClientFailure {
            throw failure
        } catch {
            try Task.checkCancellation()
            throw ClientFailure.offline(because: error)
        }
    }

    /// The failure for an error of the system or of the app. Its description may have an address with a token, so only
    /// its kind is kept.
    static func offline(because error: any Error) -> ClientFailure {
        let error = error as NSError
        return .offline("\(error.domain) \(error.code)")
    }
}

extension ClientFailure {
    /// The failure of a room that is not the person's any more.
    static let roomGone = refused(Refusal(code: "room_not_found", message: "The room is gone."))

    /// The failure of a group that the person has left.
    static let left = refused(Refusal(code: "left", message: "You have left the group."))
    /// The failure of a group from which somebody removed the person.
    static let removed = refused(Refusal(code: "removed", message: "You were removed from the group."))

    /// True if the room is not the person's: the server does not know it (`room_not_found`), or the person has left the
    /// group (`left`) or was removed from it (`removed`).
    public var isRoomGone: Bool { ["room_not_found", "left", "removed"].contains(code) }
}

/// The server's refusal of a request.
public struct Refusal: Error, Hashable, Sendable {
    /// A code from docs/api.md, such as `room_not_found`, or one of a plugin. Later servers may add codes. The
    /// library has codes of its own: `not_forgotten`, `in_use`, `disconnected`, `unsupported_scheme`, `left` and `removed`
    /// for a group that is no longer the person's, and `refused` for a connect that the server refuses without a code.
    public var code: String
    /// A text for a person.
    public var message: String
    public var isRetryable: Bool
    /// The HTTP status; nil for a refusal on the socket.
    public var status: Int?
    /// The id of the request in the server's log; nil for a refusal on the socket.
    public var requestID: String?
    /// The pause that the server asked for.
    public var retryAfter: Duration?

    /// For `invalid_field`, the name of the field that the server has refused, such as `username`: the first one in
    /// backticks in the message. nil otherwise.
    public var field: String? {
        let parts = message.split(separator: "`", maxSplits: 2, omittingEmptySubsequences: false)
        return code == "invalid_field" && parts.count == 3 ? String(parts[1]) : nil
    }

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

extension ClientFailure {
    /// The failure of a client that was stopped. `SocketUpdate.disconnected` has it, and the client's own HTTP calls
    /// throw it. `Board.clear()` throws it, too, if the board has ended because its client is gone.
    static let stopped = ClientFailure.offline("stopped")
}
