import Foundation

extension MessageItem {
    /// Finds the web addresses in a text, in their order: those with `http://` or `https://`, and those that begin with
    /// `www.`.
    ///
    /// Marks at the end of an address, and brackets that were not opened in it, belong to the sentence around it. No
    /// URL has another scheme than `http` and `https`.
    public static func links(in text: String) -> [(range: Range<String.Index>, url: URL)] {
        text.split { $0.isWhitespace || "<>\"`".contains($0) }.compactMap { word in
            guard let address = address(in: word).map(withoutEnding) else { return nil }
            let isWhole = address.first != "w" && address.first != "W"
            // What is before an @ would be a name to sign in with, and what is after it the server.
            guard isWhole || !address.contains("@"),
                let url = URL(string: isWhole ? String(address) : "https://\(address)"), url.host()?.isEmpty == false
            else { return nil }
            return (address.startIndex..<address.endIndex, url)
        }
    }

    /// Returns the rest of a word from where an address begins in it; nil if none does.
    private static func address(in word: Substring) -> Substring? {
        for index in word.indices where "hHwW".contains(word[index]) {
            let rest = word[index...]
            func begins(with start: String) -> Bool { rest.prefix(start.count).lowercased() == start }
            if begins(with: "http://") || begins(with: "https://") { return rest }
            guard begins(with: "www."), let next = rest.dropFirst(4).first, next.isLetter || next.isNumber else {
                continue
            }
            let before = word[..<index].last
            if !(before.map { $0.isLetter || $0.isNumber || "_.-".contains($0) } ?? false) { return rest }
        }
        return nil
    }

    private static func withoutEnding(_ address: Substring) -> Substring {
        let pairs: [(opening: Character, closing: Character)] = [
            ("(", ")"), ("[", "]"), ("{", "}"), ("（", "）"), ("「", "」"), ("『", "』"), ("【", "】"),
        ]
        var unopened: [Character: Int] = [:]
        for (opening, closing) in pairs {
            unopened[closing] = address.count { $0 == closing } - address.count { $0 == opening }
        }
        var address = address
        while let last = address.last {
            if let count = unopened[last], count > 0 {
                unopened[last] = count - 1
            } else if !".,;:!?…*'’‘”“»«›‹。，、；：！？".contains(last) {
                break
            }
            address.removeLast()
        }
        return address
    }
}
