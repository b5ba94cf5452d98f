import ParlorContracts
import ParlorJSON

/// A service's contribution to a Room, a Message or a Person, as one person sees it: each field with the closure
/// that writes its value, so that the manifest and the replies cannot disagree.
///
///     static let contribution = FieldContribution<BoardSummary>(
///         "elements.contribute",
///         [.init(Contribution.Field("elementCount", zero: JSONValue(0))) { $0.number($1.elementCount) }])
///
/// `Summary` is the service's data about a room, message or person, from which the values are derived.
public struct FieldContribution<Summary: Sendable>: Sendable {
    public struct Field: Sendable {
        let declaration: Contribution.Field
        let schema: Schema?
        let write: @Sendable (inout JSONWriter, Summary) -> Void

        /// - Parameters:
        ///   - schema: describes the value to readers of the API; nil if its type follows from the kind and the zero.
        ///   - write: writes one value.
        public init(
            _ declaration: Contribution.Field, schema: Schema? = nil,
            _ write: @escaping @Sendable (inout JSONWriter, Summary) -> Void
        ) {
            self.declaration = declaration
            self.schema = schema
            self.write = write
        }
    }

    public let subject: String
    private let fields: [Field]
    private let bytesOfRoom: Int

    /// - Parameter bytesOfRoom: the approximate size of one room's values, or of one other object's.
    public init(_ subject: String, bytesOfRoom: Int = 32, _ fields: [Field]) {
        self.subject = subject
        self.fields = fields
        self.bytesOfRoom = bytesOfRoom
    }

    /// The declaration for the manifest.
    public var declaration: Contribution { Contribution(subject: subject, fields: fields.map(\.declaration)) }

    var schemas: [String: Schema] {
        let all = fields.compactMap { field in field.schema.map { (field.declaration.path, $0) } }
        return Dictionary(all) { first, _ in first }
    }

    /// Returns the reply: the values of each room in turn, null for a room without a summary.
    ///
    /// - Parameter name: the member with the values.
    func reply(for ids: [String], _ summaries: [String: Summary], as name: String = "rooms") -> Reply {
        Reply(
            .ok,
            JSONWriter.object(reservingCapacity: bytesOfRoom * ids.count + 64) {
                $0.name(name)
                $0.array(of: ids) { json, id in
                    guard let summary = summaries[id] else { return json.null() }
                    json.array { json in
                        for field in fields { field.write(&json, summary) }
                    }
                }
            })
    }
}
