import Foundation

extension ClientFailure: LocalizedError {
    /// A sentence for an alert: in English, or the server's message.
    public var errorDescription: String? {
        switch self {
        case .offline: "The server cannot be reached."
        case .refused(let refusal): refusal.message
        case .unreadable: "The server's answer cannot be understood."
        case .signedOut: "You are signed out."
        }
    }

    /// A code for programs: one of the server's from api.md, or `offline`, `unreadable` or `signed_out`.
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

extension SendFailure: LocalizedError {
    public var errorDescription: String? { message }
}
