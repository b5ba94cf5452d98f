/// The error codes of the public contract.
public enum ErrorCode: String, Sendable, CaseIterable {
    case malformedRequest = "malformed_request"
    case unauthenticated
    case invalidCredentials = "invalid_credentials"
    case invalidToken = "invalid_token"
    case forbidden
    case roomNotFound = "room_not_found"
    case messageNotFound = "message_not_found"
    case elementNotFound = "element_not_found"
    case userNotFound = "user_not_found"
    case routeNotFound = "route_not_found"
    case methodNotAllowed = "method_not_allowed"
    case usernameTaken = "username_taken"
    case emailTaken = "email_taken"
    case versionConflict = "version_conflict"
    case payloadTooLarge = "payload_too_large"
    case invalidField = "invalid_field"
    case rateLimited = "rate_limited"
    case serviceUnavailable = "service_unavailable"
    case `internal` = "internal_error"

    /// True if the same request may succeed later, unchanged.
    public var isRetryable: Bool {
        switch self {
        case .rateLimited, .serviceUnavailable, .internal: true
        default: false
        }
    }
}

/// The one error that crosses services. Its message is safe to show to a person: no internals, no one else's data.
public struct ServiceError: Error, Sendable, Equatable {
    public let code: ErrorCode
    public let message: String
    /// The seconds after which to try again. Set for `rateLimited`, and always for `serviceUnavailable`.
    public let retryAfter: Int?

    public init(_ code: ErrorCode, _ message: String, retryAfter: Int? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter ?? (code == .serviceUnavailable ? Self.unavailableFor : nil)
    }

    /// The default seconds to wait: about as long as a restart or a full queue lasts.
    private static let unavailableFor = 1

    /// The error both for a room that does not exist and for one that the caller is not in, so that a caller
    /// cannot probe for rooms.
    public static let roomNotFound = ServiceError(.roomNotFound, "There is no such room.")
    public static let messageNotFound = ServiceError(.messageNotFound, "There is no such message in this room.")
    public static let elementNotFound = ServiceError(.elementNotFound, "There is no such element in this room.")
    public static let userNotFound = ServiceError(.userNotFound, "There is no such person.")
    /// The error when another service's reply is malformed.
    public static let noAnswer = ServiceError(.internal, "A service gave no answer.")

    public static func unavailable(_ what: String) -> ServiceError {
        ServiceError(.serviceUnavailable, "\(what) cannot be reached right now. Try again in a moment.")
    }

    public static func missing(_ field: String) -> ServiceError {
        ServiceError(.invalidField, "`\(field)` is missing.")
    }

    public static func invalid(_ field: String, _ rule: String) -> ServiceError {
        ServiceError(.invalidField, "`\(field)` \(rule).")
    }

    public static func wrongType(_ field: String, _ expected: String) -> ServiceError {
        ServiceError(.malformedRequest, "`\(field)` has to be \(expected).")
    }
}
