import Text

/// `name:value` of a head or a trailer (RFC 9112, section 5), as places in its line.
struct HTTPFieldLine {
    let name: Range<Int>
    /// Without the white space around it.
    let value: Range<Int>

    init(parsing line: Span<UInt8>) throws(HTTPParseError) {
        // Section 5.2: a line that goes on with the one before it.
        if !line.isEmpty, line[0].isBlank { throw HTTPParseError(400, "a header is folded") }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw HTTPParseError(400, "a header has no colon")
        }
        name = 0..<colon
        // Section 5.1: this includes white space before the colon, which some take as part of the name.
        guard colon > 0, line.allSatisfy(in: name, { $0.isTokenByte }) else {
            throw HTTPParseError(400, "the name of a header is no token")
        }
        value = line.trimming(colon + 1..<line.count)
        guard line.allSatisfy(in: value, { $0.isFieldValueByte }) else {
            throw HTTPParseError(400, "a control character in a header")
        }
        // Values are compared and split, also those of fields that no client should fill with them.
        guard line.allSatisfy(in: value, { $0 < 0x80 }) || CombiningMarks.areFew(in: line.text(value)) else {
            throw HTTPParseError(400, "too many combining marks in a header")
        }
    }
}
