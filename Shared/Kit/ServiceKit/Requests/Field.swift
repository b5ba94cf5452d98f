import ParlorContracts
import ParlorJSON

/// A field of a client's request: how it is read and checked, and what the API's documents say about it.
///
/// The errors are those of `RequestFields`. A null counts as if the field were left out.
public struct Field<Value: Sendable>: Sendable {
    public typealias Reading = @Sendable (RequestFields) throws(ServiceError) -> Value

    fileprivate let members: [Schema.Member]
    fileprivate let read: Reading

    fileprivate init(_ members: [Schema.Member], read: @escaping Reading) {
        self.members = members
        self.read = read
    }

    /// Declares a required field of any form.
    ///
    /// - Parameter read: reads the field of this name, and no other.
    public init(_ name: String, _ schema: Schema, note: String? = nil, read: @escaping Reading) {
        self.init([Schema.Member(name, note.map(schema.noted) ?? schema)], read: read)
    }

    private var optionalMembers: [Schema.Member] {
        members.map { Schema.Member($0.name, $0.schema, isRequired: false) }
    }

    private func isGiven(in given: RequestFields) -> Bool { members.contains { given[$0.name] != nil } }

    // MARK: Fields that may be left out

    public static func optional<Wrapped>(_ field: Field<Wrapped>) -> Field where Value == Wrapped? {
        Field(field.optionalMembers) { given throws(ServiceError) in
            field.isGiven(in: given) ? try field.read(given) : nil
        }
    }

    /// - Parameter standard: the value of a field that is left out.
    public static func optional(_ field: Field, or standard: Value) -> Field {
        Field(field.optionalMembers) { given throws(ServiceError) in
            field.isGiven(in: given) ? try field.read(given) : standard
        }
    }

    /// Declares a field that is cleared with a null. The value is nil if the field is left out, and an optional nil if it
    /// is null.
    public static func clearable<Wrapped>(_ field: Field<Wrapped>) -> Field where Value == Wrapped?? {
        let members = field.members.map {
            Schema.Member($0.name, $0.schema.orNull.noted("Null clears it."), isRequired: false)
        }
        return Field(members) { given throws(ServiceError) in
            if field.isGiven(in: given) { return try field.read(given) }
            return members.contains { given.isGiven($0.name) } ? .some(nil) : nil
        }
    }

    /// Declares a required field that has an older name, too. The older one is read if only that is given.
    public static func either(_ field: Field, or older: Field) -> Field {
        Field(field.optionalMembers + older.optionalMembers) { given throws(ServiceError) in
            try (!field.isGiven(in: given) && older.isGiven(in: given) ? older : field).read(given)
        }
    }

    // MARK: Texts

    /// - Parameter value: makes the value of the text, or throws that it is not allowed. In `Fields(…)` it is a function's
    ///   name, as Swift 6.3 takes no closure there.
    public static func string(
        _ name: String, _ schema: Schema = .string, note: String? = nil,
        _ value: @escaping @Sendable (String) throws(ServiceError) -> Value
    ) -> Field {
        Field(name, schema, note: note) { given throws(ServiceError) in try value(given.string(name)) }
    }

    /// Declares JSON of any form.
    ///
    /// - Parameter value: makes the value of the JSON, which is not null, or throws that it is not allowed.
    public static func json(
        _ name: String, _ schema: Schema, note: String? = nil,
        _ value: @escaping @Sendable (JSONValue) throws(ServiceError) -> Value
    ) -> Field {
        Field(name, schema, note: note) { given throws(ServiceError) in
            guard let json = given[name] else { throw .missing(name) }
            return try value(json)
        }
    }
}

extension Field<String> {
    public static func string(_ name: String, _ schema: Schema = .string, note: String? = nil) -> Field {
        Field(name, schema, note: note) { given throws(ServiceError) in try given.string(name) }
    }

    /// Declares an id; the parameters are those of `RequestFields.id`.
    public static func id(_ name: String, orThrow missing: ServiceError) -> Field {
        Field(name, .id) { given throws(ServiceError) in try given.id(name, orThrow: missing) }
    }

    /// Declares text that a person wrote; the parameters are those of `RequestFields.text`.
    public static func text(
        _ name: String, length: ClosedRange<Int>, trimmed: Bool, note: String? = nil
    ) -> Field {
        let bounds = "\(length.lowerBound) to \(length.upperBound) characters after trimming."
        let note = trimmed ? [bounds, note].compactMap(\.self).joined(separator: " ") : note
        return Field(name, trimmed ? .string : .string(length), note: note) { given throws(ServiceError) in
            try given.text(name, length: length, trimmed: trimmed)
        }
    }

    /// Declares an idempotency key: 1 to 64 characters.
    public static func key(_ name: String, note: String) -> Field {
        .text(name, length: 1...64, trimmed: false, note: note)
    }
}

extension Field<String?> {
    /// The cursor of a page: the id at the end of the previous one.
    public static let cursor = Field([Schema.Member("cursor", .string, isRequired: false)]) {
        given throws(ServiceError) in try given.optionalCursor()
    }
}

extension Field<[String]> {
    public static func strings(_ name: String, count: ClosedRange<Int>) -> Field {
        Field(name, .array(of: .string, count: count)) { given throws(ServiceError) in
            try given.strings(name, count: count)
        }
    }
}

// MARK: Numbers and truth values

extension Field<Bool> {
    public static func bool(_ name: String, note: String? = nil) -> Field {
        Field(name, .boolean, note: note) { given throws(ServiceError) in try given.bool(name) }
    }
}

extension Field<Int> {
    public static func integer(_ name: String, note: String? = nil) -> Field {
        Field(name, .integer, note: note) { given throws(ServiceError) in try given.integer(name) }
    }

    /// The `limit` of a query. A value out of range is clamped.
    public static func limit(standard: Int, max: Int) -> Field {
        let schema = Schema.integer.noted("1 to \(max); \(standard) if it is left out.")
        return Field([Schema.Member("limit", schema, isRequired: false)]) { given throws(ServiceError) in
            try given.queryLimit(standard: standard, max: max)
        }
    }
}

extension Field<Int?> {
    /// Declares an optional whole number of a query.
    public static func query(_ name: String) -> Field {
        Field([Schema.Member(name, .integer, isRequired: false)]) { given throws(ServiceError) in
            try given.queryInt(name)
        }
    }
}

// MARK: All fields

/// The fields of a client's request, declared once: what reads them also describes them.
///
///     static let newPoll = Fields(
///         .text("question", length: 1...200, trimmed: true), .optional(.id("messageId", orThrow: .messageNotFound)))
///     …
///     let (question, messageID) = try Self.newPoll.read(request.fields)
public struct Fields<each Value: Sendable>: Sendable {
    private let fields: (repeat Field<each Value>)

    public init(_ fields: repeat Field<each Value>) { self.fields = (repeat each fields) }

    /// Returns the values in the order of the declaration. Fields that are not declared are ignored.
    ///
    /// - Throws: the error of the first field that is wrong.
    public func read(_ given: RequestFields) throws(ServiceError) -> (repeat each Value) {
        (repeat try (each fields).read(given))
    }

    /// What the API's documents show.
    public var schema: Schema {
        var members: [Schema.Member] = []
        for field in repeat each fields { members += field.members }
        return .object(members)
    }
}

extension RequestDescription {
    /// Describes a request with fields; the other parameters are those of a request without any.
    public init<each Value>(
        _ summary: String, takes fields: Fields<repeat each Value>, gives: Schema? = nil,
        statuses: [Reply.Status]? = nil, isPaged: Bool = false, errors: [ErrorCode] = []
    ) {
        self.init(
            summary, takes: fields.schema, gives: gives, statuses: statuses, isPaged: isPaged, errors: errors)
    }
}
