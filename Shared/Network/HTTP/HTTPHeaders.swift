import ParlorText

/// The fields of a message's head, in the order they were written. Names are compared without regard to case.
///
/// All fields share one array of bytes. A `String` is created only when a value is read: of a browser's dozen
/// fields, a request needs two or three.
public struct HTTPHeaders: Sendable {
    private struct Field {
        let name: Range<Int>
        let value: Range<Int>
    }

    private var bytes: [UInt8] = []
    private var fields: [Field] = []

    public init() {}

    public var count: Int { fields.count }
    public var isEmpty: Bool { fields.isEmpty }

    /// The value of the first field with that name.
    public subscript(name: String) -> String? {
        for field in fields where isNamed(field, name) { return bytes.span.text(field.value) }
        return nil
    }

    /// Returns the values of all fields with that name, in order. They are not split at commas.
    public func all(_ name: String) -> [String] {
        var values: [String] = []
        for field in fields where isNamed(field, name) { values.append(bytes.span.text(field.value)) }
        return values
    }

    public func contains(_ name: String) -> Bool { fields.contains { isNamed($0, name) } }

    /// Returns true if a list such as `Connection` or `Upgrade` names this token, in any case and in any of
    /// its fields (RFC 9110, section 5.6.1).
    public func list(_ name: String, contains token: String) -> Bool {
        for field in fields where isNamed(field, name) {
            var start = field.value.lowerBound
            // Search the field only: otherwise the rest of the head would be read for each token.
            let upToItsEnd = bytes.span.extracting(..<field.value.upperBound)
            while start < field.value.upperBound {
                let end = upToItsEnd.firstIndex(of: UInt8(ascii: ","), from: start) ?? field.value.upperBound
                if bytes.span.equals(token, ignoringCaseIn: bytes.span.trimming(start..<end)) { return true }
                start = end + 1
            }
        }
        return false
    }

    /// Returns the members of a list in lower case, over all its fields, in order, including empty ones. Only ASCII
    /// letters are lowercased: Unicode has a sign (U+212A) that becomes a `k`, and two servers must not read one field
    /// differently.
    ///
    /// - Parameter limit: the number of members of each field that are taken apart; the rest of the field is one more.
    public func members(_ name: String, atMost limit: Int = .max) -> [String] {
        let members = all(name).flatMap {
            $0.split(separator: ",", maxSplits: limit, omittingEmptySubsequences: false)
        }
        return members.map { member in
            let member = member.utf8.map(\.lowercased)
            return member.span.text(member.span.trimming(0..<member.count))
        }
    }

    /// Calls a closure with each member of a list, from the last one to the first and over all its fields, until it returns
    /// false. A member of more than 64 bytes is passed as an empty one: none that a server reads from the end, such as an
    /// address, is so long.
    public func forEachMemberFromTheEnd(_ name: String, _ body: (String) -> Bool) {
        for field in fields.reversed() where isNamed(field, name) {
            var end = field.value.upperBound
            var start = end
            while true {
                while start > field.value.lowerBound, bytes[start - 1] != UInt8(ascii: ",") { start -= 1 }
                let member = bytes.span.trimming(start..<end)
                guard body(member.count <= 64 ? bytes.span.text(member) : "") else { return }
                guard start > field.value.lowerBound else { break }
                (start, end) = (start - 1, start - 1)
            }
        }
    }

    /// Returns true if `Accept-Encoding` accepts a coding by its name (RFC 9110, section 12.5.3). Only the first 256 bytes
    /// of the first field are read: browsers send 30, and a client could send 30,000.
    public func acceptsCoding(_ coding: String) -> Bool {
        guard let field = fields.first(where: { isNamed($0, "Accept-Encoding") }) else { return false }
        let end = Swift.min(field.value.upperBound, field.value.lowerBound + 256)
        let head = bytes.span.extracting(..<end)
        var start = field.value.lowerBound
        while start < end {
            let next = head.firstIndex(of: UInt8(ascii: ","), from: start) ?? end
            let name = Swift.min(head.firstIndex(of: UInt8(ascii: ";"), from: start) ?? next, next)
            if head.equals(coding, ignoringCaseIn: head.trimming(start..<name)) {
                // Any weight but zero accepts it.
                let weight = head.text(name..<next).filter { $0 != " " && $0 != "\t" }.lowercased()
                return !(weight.hasPrefix(";q=0") && weight.dropFirst(3).allSatisfy { "0.".contains($0) })
            }
            start = next + 1
        }
        return false
    }

    private func isNamed(_ field: Field, _ name: String) -> Bool { bytes.span.equals(name, ignoringCaseIn: field.name) }

    /// Adds a field after the others. Fields of the same name stay.
    ///
    /// Control characters in the value become spaces (RFC 9110, section 5.5), so a value from a request
    /// cannot end the line. The name must be a token chosen by this process.
    public mutating func add(_ name: String, _ value: String) {
        precondition(Self.isName(name), "not a valid header name: \(name)")
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let middle = bytes.count
        for byte in value.utf8 { bytes.append(byte.isFieldValueByte ? byte : UInt8(ascii: " ")) }
        fields.append(Field(name: start..<middle, value: middle..<bytes.count))
    }

    /// Adds all fields of another head after the others.
    public mutating func add(contentsOf other: HTTPHeaders) {
        let shift = bytes.count
        bytes.append(contentsOf: other.bytes)
        for field in other.fields {
            fields.append(
                Field(
                    name: field.name.lowerBound + shift..<field.name.upperBound + shift,
                    value: field.value.lowerBound + shift..<field.value.upperBound + shift))
        }
    }

    /// Returns true if a text may be a field's name: a token of RFC 9110, section 5.6.2.
    public static func isName(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(\.isTokenByte) }

    /// Adds a line that the parser has checked.
    mutating func add(_ field: HTTPFieldLine, of line: Span<UInt8>) {
        // Reserve room for a browser's head: growing from nothing would copy it four times.
        if fields.isEmpty {
            bytes.reserveCapacity(1024)
            fields.reserveCapacity(16)
        }
        let start = bytes.count
        line.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        fields.append(
            Field(
                name: start + field.name.lowerBound..<start + field.name.upperBound,
                value: start + field.value.lowerBound..<start + field.value.upperBound))
    }

    /// Writes every field as a line, except those that the encoder writes itself.
    func write(to head: inout [UInt8], leavingOut reserved: [String]) {
        for field in fields where !reserved.contains(where: { isNamed(field, $0) }) {
            head.append(contentsOf: bytes[field.name])
            head.append(UInt8(ascii: ":"))
            head.append(UInt8(ascii: " "))
            head.append(contentsOf: bytes[field.value])
            head.append(UInt8(ascii: "\r"))
            head.append(UInt8(ascii: "\n"))
        }
    }
}

extension HTTPHeaders: Sequence {
    public func makeIterator() -> some IteratorProtocol<(name: String, value: String)> {
        fields.lazy.map { (name: bytes.span.text($0.name), value: bytes.span.text($0.value)) }.makeIterator()
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral fields: (String, String)...) {
        for (name, value) in fields { add(name, value) }
    }
}

extension HTTPHeaders: Equatable {
    /// Returns true if both have the same fields in the same order, with names compared without regard to case.
    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy { ($0.name.lowercased(), $0.value) == ($1.name.lowercased(), $1.value) }
    }
}

/// The line `name:value` of a head or a trailer (RFC 9112, section 5), as ranges in it.
struct HTTPFieldLine {
    let name: Range<Int>
    /// The range of the value, without the white space around it.
    let value: Range<Int>

    init(parsing line: Span<UInt8>) throws(HTTPParseError) {
        // Section 5.2: a line that continues the one before it.
        if !line.isEmpty, line[0].isBlank { throw HTTPParseError(400, "a header is folded") }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw HTTPParseError(400, "a header has no colon")
        }
        name = 0..<colon
        // Section 5.1: this also refuses white space before the colon, which some servers take as part of the name.
        guard colon > 0, line.allSatisfy(in: name, { $0.isTokenByte }) else {
            throw HTTPParseError(400, "the name of a header is not a token")
        }
        value = line.trimming(colon + 1..<line.count)
        guard line.allSatisfy(in: value, { $0.isFieldValueByte }) else {
            throw HTTPParseError(400, "a control character in a header")
        }
        // Values are compared and split as strings, which takes quadratic time in a run of combining marks.
        guard line.allSatisfy(in: value, { $0 < 0x80 }) || CombiningMarks.areFew(in: line.text(value)) else {
            throw HTTPParseError(400, "too many combining marks in a header")
        }
    }
}
