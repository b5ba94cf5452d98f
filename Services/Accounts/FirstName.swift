import Contracts
import ServiceKit

/// What friends call a person, stored as sent. It stands in lists, titles and notifications beside others' texts, so it has to
/// stay on its line, leave them as they are, and look different from a different name.
struct FirstName: Sendable {
    let text: String

    /// Long enough for any name, short enough to be shown in a list of rooms.
    static let maxLength = 100

    init(_ text: String) throws(ServiceError) {
        guard text.hasOnlyVisibleScalars else {
            throw .invalid("firstName", "has line breaks, invisible characters or control characters in it")
        }
        guard text.unicodeScalars.count <= Self.maxLength else {
            throw .invalid("firstName", "may have at most \(Self.maxLength) characters")
        }
        self.text = text
    }

    /// What a search compares.
    var key: String { text.lowercased() }
}
