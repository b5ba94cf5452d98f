import ParlorJSON

/// An error code as clients see it, with its HTTP status. Here are the codes of the public contract that any request can
/// have; those of Parlor's services are in the services' contracts. Another service may have codes of its own.
public struct ErrorCode: Sendable, Hashable {
    public let rawValue: String
    public let status: Int

    /// Creates a code of a service's own, for an error that no code of the contract names. A client that does not
    /// know the code acts on the status.
    ///
    /// - Parameters:
    ///   - name: lower-case letters, digits and `_`, a letter first, at most 64; not a code of the contract.
    ///   - status: 400 to 499, but not 401 or 429, on which clients act by themselves: they renew their token, or wait.
    /// - Returns: nil if the name or the status is not allowed.
    public init?(ownName name: String, status: Int) {
        let isNamed =
            (1...64).contains(name.utf8.count) && Self.letters.contains(name.utf8.first ?? 0)
            && name.utf8.allSatisfy { Self.letters.contains($0) || Self.digits.contains($0) || $0 == UInt8(ascii: "_") }
        guard isNamed, Self.contract[name] == nil, (400...499).contains(status), status != 401, status != 429 else {
            return nil
        }
        self.init(name, status)
    }

    /// A code of a service's own, as `init(ownName:status:)` makes it, for a constant: one that is not allowed ends the program
    /// with a line that says why.
    public static func own(_ name: String, _ status: Int) -> ErrorCode {
        guard let code = ErrorCode(ownName: name, status: status) else {
            fatalError(
                "the error code \(name) with the status \(status) is not allowed: a code has a-z, 0-9 and _, and 400 to 499, "
                    + "but not 401 or 429")
        }
        return code
    }

    init(_ rawValue: String, _ status: Int) { (self.rawValue, self.status) = (rawValue, status) }

    private static let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    public static let malformedRequest = ErrorCode("malformed_request", 400)
    public static let unauthenticated = ErrorCode("unauthenticated", 401)
    public static let forbidden = ErrorCode("forbidden", 403)
    public static let routeNotFound = ErrorCode("route_not_found", 404)
    public static let methodNotAllowed = ErrorCode("method_not_allowed", 405)
    public static let payloadTooLarge = ErrorCode("payload_too_large", 413)
    public static let invalidField = ErrorCode("invalid_field", 422)
    public static let rateLimited = ErrorCode("rate_limited", 429)
    public static let `internal` = ErrorCode("internal_error", 500)
    public static let serviceUnavailable = ErrorCode("service_unavailable", 503)

    /// The codes of the public contract: those that any request can have, and those of Parlor's services.
    public static let ofContract: [ErrorCode] =
        [
            malformedRequest, unauthenticated, forbidden, routeNotFound, methodNotAllowed, payloadTooLarge,
            invalidField, rateLimited, `internal`, serviceUnavailable,
        ] + ofAccounts + ofRooms + ofMessaging + ofElements
    private static let contract = Dictionary(uniqueKeysWithValues: ofContract.map { ($0.rawValue, $0) })

    public var isOfContract: Bool { Self.contract[rawValue] != nil }

    /// Reads the code of an error that a service sent: one of the contract, or its own with a status.
    init?(_ error: JSONObject) {
        guard let name = error["code"]?.string else { return nil }
        self.init(described: name, status: error["status"]?.int)
    }

    /// Reads a code and its status; nil if it is neither of the contract nor a valid one of a service's own.
    init?(described name: String, status: Int?) {
        if let code = Self.contract[name] {
            self = code
        } else {
            guard let status else { return nil }
            self.init(ownName: name, status: status)
        }
    }

    /// True if the same request may succeed later, unchanged.
    public var isRetryable: Bool { self == .rateLimited || self == .serviceUnavailable || self == .internal }
}

extension JSONObject {
    /// The code and the status of a service's error, for a log, if no client may get them; nil if they are allowed.
    public var refusedCode: String? {
        guard ErrorCode(self) == nil else { return nil }
        let code = self["code"]?.string ?? "none"
        return "code \(code.prefix(64)), status \(self["status"]?.int.map(String.init) ?? "none")"
    }
}

/// The one error that crosses services. Its message is safe to show to a person: no internals, no one else's data.
public struct ServiceError: Error, Sendable, Equatable, CustomStringConvertible {
    public let code: ErrorCode
    public let message: String
    /// The seconds after which to try again. The creator of a `rateLimited` error sets it. For `serviceUnavailable` it
    /// has a default.
    public let retryAfter: Int?

    public init(_ code: ErrorCode, _ message: String, retryAfter: Int? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter ?? (code == .serviceUnavailable ? Self.unavailableFor : nil)
    }

    public var description: String { "\(code.rawValue): \(message)" }

    /// The default seconds to wait: about as long as a restart or a full queue lasts.
    private static let unavailableFor = 1

    /// The error for a malformed reply of another service. Such a reply counts as none.
    public static let noReply = ServiceError(.internal, "A service gave no valid reply.")

    public static func unavailable(_ what: String) -> ServiceError {
        ServiceError(.serviceUnavailable, "\(what) cannot be reached right now. Try again in a moment.")
    }

    public static let badCursor = ServiceError(.malformedRequest, "`cursor` is not a cursor of this list.")

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
