import Foundation

extension String {
    /// A file's name that stands for this string alone.
    ///
    /// - Parameter plain: what else than small letters, digits, `-` and `_` stays as it is.
    package func fileName(plain: String = "") -> String {
        // Capitals are escaped too: to many disks `A` and `a` are one name.
        let kept = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyz0123456789-_" + plain)
        // Only a string that is no Unicode has no encoding, and a Swift string is.
        return addingPercentEncoding(withAllowedCharacters: kept) ?? "_"
    }
}
