/// `name:value` of a head or a trailer (RFC 9112, section 5).
struct HTTPFieldLine {
    let name: ArraySlice<UInt8>
    /// Without the white space around it.
    let value: ArraySlice<UInt8>

    init(parsing line: ArraySlice<UInt8>) throws(HTTPParseError) {
        // Section 5.2: a line that goes on with the one before it.
        if let first = line.first, first.isBlank { throw HTTPParseError(400, "a header is folded") }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw HTTPParseError(400, "a header has no colon")
        }
        name = line[..<colon]
        // Section 5.1: this includes white space before the colon, which some take as part of the name.
        guard !name.isEmpty, name.allSatisfy(\.isTokenByte) else {
            throw HTTPParseError(400, "the name of a header is no token")
        }
        value = line[(colon + 1)...].trimmed
        guard value.allSatisfy(\.isFieldValueByte) else {
            throw HTTPParseError(400, "a control character in a header")
        }
    }
}
