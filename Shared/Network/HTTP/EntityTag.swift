/// Tells one representation of a resource from all others (RFC 9110, section 8.8.3). A strong one.
public struct EntityTag: Sendable, Equatable {
    private let opaque: String

    /// - Parameter opaque: what stands between the quotation marks; visible ASCII, and none of those among it.
    public init(_ opaque: String) {
        precondition(opaque.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }, "no tag: \(opaque)")
        self.opaque = opaque
    }

    public var text: String { "\"\(opaque)\"" }

    /// Whether a list of tags has this one, by the weak comparison: that of one that was weakened on its way, too.
    fileprivate func isListed(in list: String) -> Bool {
        var rest = list.utf8[...]
        while true {
            rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: ",") }
            if rest.starts(with: "W/".utf8) { rest = rest.dropFirst(2) }
            // A tag may have commas in it. Behind what is none there may be anything.
            guard rest.popFirst() == UInt8(ascii: "\""), let end = rest.firstIndex(of: UInt8(ascii: "\"")) else {
                return false
            }
            if rest[..<end].elementsEqual(opaque.utf8) { return true }
            rest = rest[rest.index(after: end)...]
        }
    }
}

extension HTTPHeaders {
    /// Whether `If-None-Match` is there and names what there is: the condition that is false then (RFC 9110, section 13.1.2).
    public func ifNoneMatch(names tag: EntityTag) -> Bool {
        all("If-None-Match").contains { $0 == "*" || tag.isListed(in: $0) }
    }
}
