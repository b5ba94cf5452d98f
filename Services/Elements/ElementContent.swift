import ParlorContracts
import ParlorJSON
import ParlorServiceKit

/// A client's own JSON object, stored byte for byte except for the white space between its tokens: members
/// stay in order, and numbers as they were written.
struct ElementContent: Sendable, Equatable {
    let json: JSONValue

    /// The size limit of the stored text: indentation in a client's JSON does not count.
    static let maxBytes = 64 * 1024
    /// The limit of nesting. An element is sent inside a reply, a log entry and a list of entries, and their
    /// parsers accept 512 levels.
    static let maxDepth = 256

    static let schema = Schema.map(of: .any).noted(
        "Any JSON object of up to 64 KiB. White space between its tokens is neither counted nor stored.")
    static let field = Field.json("content", schema) { json throws(ServiceError) in try ElementContent(json) }

    static let empty = ElementContent(stored: .emptyObject)

    init(_ given: JSONValue) throws(ServiceError) {
        guard given.kind == .object else { throw .wrongType("content", "an object") }
        let shape = Shape(of: given.bytes)
        guard shape.size <= Self.maxBytes else {
            throw ServiceError(.payloadTooLarge, "`content` has to be at most 64 KiB.")
        }
        guard shape.depth <= Self.maxDepth else {
            throw .invalid("content", "is nested deeper than \(Self.maxDepth) levels")
        }
        json = shape.size == given.bytes.count ? given : JSONValue(trusted: shape.compacted(given.bytes))
    }

    init(stored json: JSONValue) { self.json = json }
}

/// The size and depth of a JSON text without the white space between its tokens.
private struct Shape {
    private(set) var size = 0
    private(set) var depth = 0

    init(of text: ArraySlice<UInt8>) {
        var level = 0
        Self.forEachKeptByte(of: text) { byte, isInString in
            size += 1
            guard !isInString else { return }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                level += 1
                depth = max(depth, level)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): level -= 1
            default: break
            }
        }
    }

    func compacted(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var kept: [UInt8] = []
        kept.reserveCapacity(size)
        Self.forEachKeptByte(of: text) { byte, _ in kept.append(byte) }
        return kept
    }

    private static func forEachKeptByte(of text: ArraySlice<UInt8>, _ body: (UInt8, _ isInString: Bool) -> Void) {
        var isInString = false
        var isEscaped = false
        for byte in text {
            if isInString {
                body(byte, true)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
            } else if !isWhiteSpace(byte) {
                body(byte, false)
                isInString = byte == UInt8(ascii: "\"")
            }
        }
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
            || byte == UInt8(ascii: "\r")
    }
}
