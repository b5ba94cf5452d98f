import Foundation
import ParlorClient

extension MessageItem {
    /// The text, with links where it has web addresses. The system opens them in the browser.
    var linkedText: AttributedString {
        var linked = AttributedString()
        var end = text.startIndex
        for (range, url) in Self.links(in: text) {
            var link = AttributedString(text[range])
            link.link = url
            linked += AttributedString(text[end..<range.lowerBound]) + link
            end = range.upperBound
        }
        return linked + AttributedString(text[end...])
    }
}
