@_spi(_Unicode) import Swift

// One form for texts that differ only in how they are encoded (UAX 15). Keyboards and file systems choose different ones.
// The standard library has the form that it compares strings by, and Foundation's is too large for a service.
extension String {
    /// This text in Unicode's normal form C.
    public var inNormalForm: String {
        // Nothing below this byte is ever combined or decomposed.
        if utf8.allSatisfy({ $0 < 0x80 }) { return self }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: _nfc)
        return String(scalars)
    }

    /// The key of this text in searches: the same for texts that differ in case, in normal form, or in the form that a
    /// sigma has at a word's end.
    public var searchKey: String {
        let key = lowercased().inNormalForm
        return key.contains("ς") ? String(key.map { $0 == "ς" ? "σ" : $0 }) : key
    }
}
