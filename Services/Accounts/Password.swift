import Contracts

/// 8 to 128 bytes, taken as they are: not trimmed, not changed. It is no text, so any character may be in it.
struct Password: Sendable {
    let text: String

    /// The upper end keeps a hash's cost the same for all; it is far beyond what scrypt can use.
    static let lengths = 8...128

    /// - Parameter field: what the request calls it.
    init(_ text: String, field: String = "password") throws(ServiceError) {
        guard Self.lengths.contains(text.utf8.count) else {
            throw .invalid(field, "has to have 8 to 128 bytes")
        }
        self.text = text
    }
}
