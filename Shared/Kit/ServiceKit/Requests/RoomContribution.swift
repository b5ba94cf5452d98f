import Contracts
import JSON

/// A service's contribution to a Room as one person sees it: each field with the closure that writes its
/// value, so that the manifest and the replies cannot disagree.
///
///     static let contribution = RoomContribution<BoardSummary>(
///         "elements.contribute",
///         [.init(Contribution.Field("elementCount", zero: JSONValue(0))) { $0.number($1.elementCount) }])
///
/// `Summary` is the service's data about a room, from which the values are derived.
public struct RoomContribution<Summary: Sendable>: Sendable {
    public struct Field: Sendable {
        let declaration: Contribution.Field
        let schema: Schema?
        let write: @Sendable (inout JSONWriter, Summary) -> Void

        /// - Parameters:
        ///   - schema: the value for readers of the API; nil if it follows from the kind and the zero.
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

    /// - Parameter bytesOfRoom: the approximate size of one room's values.
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

    /// Returns `{rooms}`: the values of each room in turn, null for a room without a summary.
    func reply(for roomIDs: [String], _ summaries: [String: Summary]) -> Reply {
        Reply(
            .ok,
            JSONWriter.object(reservingCapacity: bytesOfRoom * roomIDs.count + 64) {
                $0.name("rooms")
                $0.array(of: roomIDs) { json, id in
                    guard let summary = summaries[id] else { return json.null() }
                    json.array { json in
                        for field in fields { field.write(&json, summary) }
                    }
                }
            })
    }
}
