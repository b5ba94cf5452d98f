/// The fields of a message's head, in the order they were written. Names are compared without regard to case.
///
/// All fields share one array of bytes, and a `String` is made only of a value that is asked for: of a browser's
/// dozen fields a request needs two or three.
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
        fields.first { bytes[$0.name].equalsIgnoringCase(name) }.map { bytes[$0.value].text }
    }

    /// The values of all fields with that name, in order. Not split at commas.
    public func all(_ name: String) -> [String] {
        fields.filter { bytes[$0.name].equalsIgnoringCase(name) }.map { bytes[$0.value].text }
    }

    public func contains(_ name: String) -> Bool { fields.contains { bytes[$0.name].equalsIgnoringCase(name) } }

    /// Whether a list such as `Connection` or `Upgrade` names this token, in any case and in any of its fields
    /// (RFC 9110, section 5.6.1).
    public func list(_ name: String, contains token: String) -> Bool {
        fields.contains { field in
            bytes[field.name].equalsIgnoringCase(name)
                && bytes[field.value].split(separator: UInt8(ascii: ","))
                    .contains { $0.trimmed.equalsIgnoringCase(token) }
        }
    }

    /// The members of a list, over all its fields, in order; empty members are kept.
    func members(_ name: String) -> [String] {
        all(name).flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            .map { Array($0.utf8)[...].trimmed.text }
    }

    /// Adds a field behind the others; one of the same name stays.
    ///
    /// Control characters in the value become spaces, as RFC 9110, section 5.5, says: nothing that is passed on from a
    /// request can end the line. The name has to be a token, and is for this process to choose.
    public mutating func add(_ name: String, _ value: String) {
        precondition(Self.isName(name), "no name for a header: \(name)")
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let middle = bytes.count
        for byte in value.utf8 { bytes.append(byte.isFieldValueByte ? byte : UInt8(ascii: " ")) }
        fields.append(Field(name: start..<middle, value: middle..<bytes.count))
    }

    /// Whether a text may be the name of a field: a token of RFC 9110, section 5.6.2.
    public static func isName(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(\.isTokenByte) }

    /// Takes bytes that the parser has checked.
    mutating func add(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: name)
        let middle = bytes.count
        bytes.append(contentsOf: value)
        fields.append(Field(name: start..<middle, value: middle..<bytes.count))
    }

    /// Writes every field as a line, but those that the encoder writes itself.
    func write(to head: inout [UInt8], leavingOut reserved: [String]) {
        for field in fields {
            let name = bytes[field.name]
            if reserved.contains(where: { name.equalsIgnoringCase($0) }) { continue }
            head.append(contentsOf: name)
            head.append(contentsOf: [UInt8(ascii: ":"), UInt8(ascii: " ")])
            head.append(contentsOf: bytes[field.value])
            head.append(contentsOf: [13, 10])
        }
    }
}

extension HTTPHeaders: Sequence {
    public func makeIterator() -> some IteratorProtocol<(name: String, value: String)> {
        fields.lazy.map { (name: bytes[$0.name].text, value: bytes[$0.value].text) }.makeIterator()
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral fields: (String, String)...) {
        for (name, value) in fields { add(name, value) }
    }
}

extension HTTPHeaders: Equatable {
    /// The same fields in the same order, names without regard to case.
    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy { ($0.name.lowercased(), $0.value) == ($1.name.lowercased(), $1.value) }
    }
}
