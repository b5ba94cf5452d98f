import Foundation

extension String {
    /// Returns a file name that no other string has.
    ///
    /// - Parameter plain: characters that stay as they are, besides lower-case letters, digits, `-` and `_`.
    package func fileName(plain: String = "") -> String {
        // Capitals are escaped too: many disks treat `A` and `a` as one name.
        let kept = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyz0123456789-_" + plain)
        // Only invalid Unicode has no encoding, and a Swift string is always valid.
        return addingPercentEncoding(withAllowedCharacters: kept) ?? "_"
    }
}
