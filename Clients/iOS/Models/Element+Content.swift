import Foundation
import RoomsClient

/// What a note's content is: `{"text": …}`, and whatever other clients add to it, such as the web client's `tint`, `w` and `h`.
extension Element {
    static let note = "note"

    var isNote: Bool { type == Self.note }

    /// The words to show: a note's text; of what this app does not draw, what there is to say.
    var words: String {
        for name in ["text", "title", "alt", "url"] {
            if let words = content[name]?.string, !words.isEmpty { return words }
        }
        return ""
    }

    /// Another client may have written anything: sizes that no screen can show are not taken.
    var size: CGSize {
        CGSize(width: content["w"]?.length ?? 208, height: content["h"]?.length ?? 144)
    }
}

extension JSON {
    /// The content of a new note.
    static func note(_ text: String) -> JSON { .object(["text": .string(text)]) }

    /// The same content with another text; what other clients have put into it stays.
    func replacingText(_ text: String) -> JSON {
        guard case .object(var members) = self else { return .note(text) }
        members["text"] = .string(text)
        return .object(members)
    }

    fileprivate var length: Double? {
        let length: Double
        switch self {
        case .integer(let number): length = Double(number)
        case .number(let number): length = number
        default: return nil
        }
        return (48...2_400).contains(length) ? length : nil
    }
}
