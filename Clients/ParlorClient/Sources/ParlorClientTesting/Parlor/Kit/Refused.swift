import ParlorClient

/// A refusal of a request.
struct Refused: Error {
    var status: Int
    var code: String
    var message: String
    var isRetryable = false
    var retryAfter: Duration?

    static let unauthenticated = Self(status: 401, code: "unauthenticated", message: "Sign in first.")

    static func notFound(_ what: String) -> Self {
        .init(status: 404, code: "\(what)_not_found", message: "No such \(what).")
    }
    static func invalid(_ field: String, _ why: String) -> Self {
        .init(status: 422, code: "invalid_field", message: "`\(field)` \(why).")
    }
    static func malformed(_ why: String) -> Self { .init(status: 400, code: "malformed_request", message: why) }
    static func forbidden(_ why: String) -> Self { .init(status: 403, code: "forbidden", message: why) }
}

extension Refused {
    /// The refusal that a plugin's handler threw, or `internal_error` for any other error.
    init(_ error: any Error) {
        guard let refusal = error as? Refusal else {
            self.init(status: 500, code: "internal_error", message: "\(error)", isRetryable: true)
            return
        }
        self.init(
            status: refusal.status ?? (refusal.isRetryable ? 503 : 422), code: refusal.code, message: refusal.message,
            isRetryable: refusal.isRetryable, retryAfter: refusal.retryAfter)
    }
}
