import Foundation

/// The rules for the text of a message, for a field in which a person writes one.
public enum MessageText {
    /// The maximum of ``count(of:)``: the server's.
    public static let limit = 4_000

    /// Returns the number of characters as the server counts them: Unicode scalars, without the white space around the
    /// text. It may be higher than the text's own `count`: a flag has two scalars.
    public static func count(of text: String) -> Int { sent(text).unicodeScalars.count }

    /// Returns true if ``Conversation/send(_:)`` takes the text: something is left of it, and it is not over the limit.
    public static func canBeSent(_ text: String) -> Bool { (1...limit).contains(count(of: text)) }

    /// Returns the text that is sent.
    static func sent(_ text: String) -> String { text.trimmingCharacters(in: .whitespacesAndNewlines) }
}
