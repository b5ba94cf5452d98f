import Foundation
import ParlorClient

/// Marks the web addresses of a text in the lines that it was wrapped into. The marks are OSC 8 sequences: a terminal
/// that knows them opens an address on a click, also one that is broken into several lines.
struct Hyperlinks {
    /// For each character of the text that is left, other than spaces and line breaks: the address that it belongs to.
    private var addresses: ArraySlice<URL?> = []

    init(in text: String) {
        let links = MessageItem.links(in: text)
        guard !links.isEmpty else { return }
        var (index, all) = (0, [URL?]())
        for place in text.indices where !Self.isLostInWrapping(text[place]) {
            while index < links.count, links[index].range.upperBound <= place { index += 1 }
            all.append(index < links.count && links[index].range.contains(place) ? links[index].url : nil)
        }
        addresses = all[...]
    }

    /// Takes the next line, and returns it with its marks.
    ///
    /// - Parameter limit: the number of columns to which the line is cut.
    mutating func mark(_ line: String, cutTo limit: Int) -> String {
        let shown = line.cut(to: limit)
        guard !addresses.isEmpty else { return shown }
        let owners = line.map { Self.isLostInWrapping($0) ? nil : addresses.popFirst() ?? nil }
        var (text, open) = ("", URL?.none)
        for (character, owner) in zip(shown, owners) {
            if owner != open { text += Self.sequence(owner) }
            open = owner
            text.append(character)
        }
        return open == nil ? text : text + Self.sequence(nil)
    }

    private static func isLostInWrapping(_ character: Character) -> Bool { character == " " || character == "\n" }

    /// The beginning of a link, or its end. A URL has no control characters, which are percent-encoded in it.
    private static func sequence(_ url: URL?) -> String { "\u{1b}]8;;\(url?.absoluteString ?? "")\u{1b}\\" }
}
