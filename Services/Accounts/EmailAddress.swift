import Contracts
import ServiceKit

/// An address that may exist. Whether it does, only a message to it would tell.
struct EmailAddress: Sendable {
    let text: String

    /// RFC 5321, section 4.5.3.1.3: a path is 256 bytes with its brackets.
    static let maxLength = 254

    init(_ text: String) throws(ServiceError) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard !text.hasForbiddenControls, parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty,
            text.utf8.count <= Self.maxLength,
            parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }),
            !text.unicodeScalars.contains(where: \.properties.isWhitespace)
        else { throw .invalid("email", "has to be an e-mail address") }
        self.text = text
    }

    /// The same for all that count as one address. The standard would let the part before the `@` depend on case; no
    /// provider does, and people write their own in both.
    var key: String { text.lowercased() }
}
