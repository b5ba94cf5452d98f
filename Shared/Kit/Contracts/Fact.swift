import ParlorJSON

/// A change in a service's domain, for other services: a kind, and a payload. The contract of the service that writes it has
/// the facts of each kind and reads their payloads, such as `Fact.messageSent`.
///
/// It is the first element of the entry's array of emissions. It has no `event`, so a reader that
/// does not know facts skips it.
public struct Fact: Sendable, Equatable {
    public let kind: String
    /// An object: `fact` with the kind, and the members of the payload.
    public private(set) var payload: JSONValue

    /// - Parameter write: writes the members of the payload.
    public init(_ kind: String, _ write: (inout JSONWriter) -> Void = { _ in }) {
        self.kind = kind
        payload = JSONWriter.object {
            $0.member("fact", kind)
            write(&$0)
        }
    }

    /// Parses a fact of any kind; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let kind = json["fact"]?.string else { return nil }
        self.kind = kind
        payload = json
    }

    /// Returns a text of the payload; nil if the fact is of another kind.
    public func text(_ member: String, of kind: String) -> String? {
        self.kind == kind ? payload[member]?.string : nil
    }
}

extension Fact {
    /// - Parameter array: an entry's array, of which this fact is the first element.
    mutating func movePayload(into array: [UInt8]) { payload = JSONValue(trusted: array[1...payload.bytes.count]) }
}

extension Fact {
    /// The fields that the service adds to these messages and people have changed, for whoever sees them.
    public static func fieldsChanged(messageIDs: [String] = [], personIDs: [String] = []) -> Fact {
        Fact("fieldsChanged") {
            $0.member(ShownObject.messages.ids, messageIDs)
            $0.member(ShownObject.people.ids, personIDs)
        }
    }

    public var fieldsChanged: (messageIDs: [String], personIDs: [String])? {
        guard kind == "fieldsChanged" else { return nil }
        // Either may be left out.
        let ids = ShownObject.allCases.map { payload[$0.ids]?.array?.compactMap(\.string) ?? [] }
        return (ids[0], ids[1])
    }
}
