/// The texts that start with a prefix, as a range in the order of their bytes: what an index can find, and no pattern.
struct PrefixRange {
    let start: String
    /// The first text after all of them.
    let end: String

    /// After every text: byte order is the order of scalars, and nothing that is stored starts with this one.
    private static let last = "\u{10FFFF}\u{10FFFF}"

    init(_ prefix: String) {
        start = prefix
        var scalars = Array(prefix.unicodeScalars)
        while let scalar = scalars.popLast() {
            // 0xD7FF is followed by the surrogates, which are no scalars.
            let next = scalar.value == 0xD7FF ? 0xE000 : scalar.value + 1
            guard let successor = Unicode.Scalar(next) else { continue }
            var end = String.UnicodeScalarView()
            end.append(contentsOf: scalars)
            end.append(successor)
            self.end = String(end)
            return
        }
        end = Self.last
    }
}
