import Foundation
import ParlorClient

// The content of a note is `{"text": …}`. Other clients add members: the web client adds `tint`, `w`, `h` and `z`.
extension Element {
    static let note = "note"
    static let defaultSize = CGSize(width: 208, height: 144)

    var isNote: Bool { type == Self.note }

    /// True for a note whose whole content this device can read. An edit would remove what it cannot read.
    var isEditableNote: Bool { isNote && isContentWhole }

    /// The text of a note. For other types it is their title, description or address.
    var words: String {
        for name in ["text", "title", "alt", "url"] {
            if let words = content[name]?.string, !words.isEmpty { return words }
        }
        return ""
    }

    /// The width and height from the content. Each has a default if it is missing or out of bounds, because other
    /// clients may write anything.
    var size: CGSize {
        let size = Self.defaultSize
        return CGSize(width: content["w"]?.length ?? size.width, height: content["h"]?.length ?? size.height)
    }
}

extension JSON {
    /// The content of a new note.
    static func note(_ text: String) -> JSON { .object(["text": .string(text)]) }

    /// Returns this content with another text. Its other members stay.
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
