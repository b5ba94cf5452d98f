import ParlorJSON

/// A service's own words about what its manifest offers: texts and schemas for `openapi.json` and
/// `asyncapi.json`. Every part is optional.
///
/// It is no part of the manifest, which is announced often. The manifest has its digest only; a gateway asks for
/// it (`Subject.description`) when a client asks for a document.
public struct ServiceDescription: Sendable, Equatable {
    /// The requests by subject: a route and a socket event with the same subject are one request.
    public var requests: [String: RequestDescription]
    /// The events that the service emits.
    public var events: [EventDescription]
    /// The fields of its contribution to rooms, by path.
    public var fields: [String: Schema]
    /// The fields of its contributions to messages and people, by path.
    public var objectFields: [ShownObject: [String: Schema]]
    /// The named schemas that the service itself defines.
    public var schemas: [String: Schema]

    /// The limit of the JSON, in bytes. A gateway ignores a longer description.
    public static let maxBytes = 128 * 1024

    public init(
        requests: [String: RequestDescription] = [:], events: [EventDescription] = [], fields: [String: Schema] = [:],
        objectFields: [ShownObject: [String: Schema]] = [:]
    ) {
        self.requests = requests
        self.events = events
        self.fields = fields
        self.objectFields = objectFields
        let all =
            requests.values.flatMap { [$0.takes] + [$0.gives].compactMap(\.self) } + events.map(\.data) + fields.values
            + objectFields.values.flatMap(\.values)
        schemas = all.reduce(into: [:]) { $0.merge($1.definitions) { first, _ in first } }
    }

    public var isEmpty: Bool {
        requests.isEmpty && events.isEmpty && fields.isEmpty && objectFields.isEmpty && schemas.isEmpty
    }
}

/// A request of clients, by a route or a socket event.
public struct RequestDescription: Sendable, Equatable {
    /// One sentence: what the request does.
    public let summary: String
    /// An object: the path's parameters, and the members of the query, the body or the event's payload.
    public var takes: Schema
    /// The data of the reply; nil if it has none.
    public let gives: Schema?
    /// The statuses of success, the usual one first.
    public let statuses: [Int]
    /// True if the reply is a list in pages.
    public let isPaged: Bool
    /// The errors that depend on the request, besides those that every request can have.
    public var errors: [ErrorCode]

    /// Describes a request without fields.
    ///
    /// - Parameter statuses: nil for 200, or 204 without data.
    public init(
        _ summary: String, gives: Schema? = nil, statuses: [Reply.Status]? = nil, isPaged: Bool = false,
        errors: [ErrorCode] = []
    ) {
        self.init(
            summary, takes: .object(), gives: gives, statuses: statuses, isPaged: isPaged, errors: errors)
    }

    /// Describes a request with fields; services use `Fields`, which read what they describe.
    package init(
        _ summary: String, takes: Schema, gives: Schema? = nil, statuses: [Reply.Status]? = nil, isPaged: Bool = false,
        errors: [ErrorCode] = []
    ) {
        self.init(
            summary, takes, gives, statuses: statuses?.map(\.rawValue) ?? [gives == nil ? 204 : 200],
            isPaged: isPaged, errors: errors)
    }

    init(
        _ summary: String, _ takes: Schema, _ gives: Schema?, statuses: [Int], isPaged: Bool, errors: [ErrorCode]
    ) {
        self.summary = summary
        self.takes = takes
        self.gives = gives
        self.statuses = statuses
        self.isPaged = isPaged
        self.errors = errors
    }

    /// Returns the same request in a room: it also takes a `roomId`, and fails with `room_not_found` for callers who
    /// are not in the room.
    public var inRoom: RequestDescription {
        guard !takes.members.contains(where: { $0.name == "roomId" }) else { return self }
        var request = self
        request.takes = .object([Schema.Member("roomId", .id)] + takes.members)
        request.errors = [.roomNotFound] + errors.filter { $0 != .roomNotFound }
        return request
    }
}

/// An event that a service emits to clients.
public struct EventDescription: Sendable, Equatable {
    public enum Audience: String, Sendable {
        case room, everyone, person
        /// One socket. Only a gateway sends to it.
        case socket
    }

    public let event: String
    public let audience: Audience
    /// One sentence: when it is sent.
    public let summary: String
    public let data: Schema

    public init(_ event: String, to audience: Audience, _ summary: String, _ data: Schema) {
        self.event = event
        self.audience = audience
        self.summary = summary
        self.data = data
    }
}

extension Subject {
    /// Returns the subject of the request for a service's description. Gateways send it if the manifest has the
    /// digest of a description. The request's data is `{description}`, with that digest.
    public static func description(of service: String) -> String { "\(service).describe" }
}

extension Contribution.Field {
    /// The schema that follows from the zero alone. A zero of null says nothing about the other values.
    public var plainSchema: Schema {
        switch zero.kind {
        case .number: zero.int == nil ? .number : .integer
        case .string: .string
        case .bool: .boolean
        case .array: .array(of: .any)
        case .object: .object()
        case .null: .any
        }
    }
}
