import Foundation

extension ClientFailure: LocalizedError {
    /// A sentence for an alert: the server's message for a refusal, otherwise one of the library's, in English.
    public var errorDescription: String? {
        switch self {
        case .offline: "The server cannot be reached."
        case .refused(let refusal): refusal.message
        case .unreadable: "The server's answer cannot be understood."
        case .signedOut: "You are signed out."
        }
    }

    /// A code for programs: a refusal's ``Refusal/code``, or `offline`, `unreadable` or `signed_out`.
    public var code: String {
        switch self {
        case .offline: "offline"
        case .refused(let refusal): refusal.code
        case .unreadable: "unreadable"
        case .signedOut: "signed_out"
        }
    }
}

extension Refusal: LocalizedError {
    public var errorDescription: String? { message }
}
