import ParlorJSON

/// The objects of the public API, other than Rooms, to which services add fields. A route declares which of them
/// it answers with (`Route.shows`).
public enum ShownObject: String, Sendable, CaseIterable {
    case messages, people

    /// The member with the objects' ids, in the request to a service and in the fact `fieldsChanged`.
    public var ids: String {
        switch self {
        case .messages: "messageIds"
        case .people: "personIds"
        }
    }

    /// The member of the manifest with a service's contribution.
    var contribution: String {
        switch self {
        case .messages: "messageContribution"
        case .people: "personContribution"
        }
    }

    /// The member of a description with the schemas of contributed fields.
    var fieldSchemas: String {
        switch self {
        case .messages: "messageFields"
        case .people: "personFields"
        }
    }

    /// The name of one of them in the API.
    public var name: String {
        switch self {
        case .messages: "Message"
        case .people: "Person"
        }
    }

    /// The object's own members, which no service may contribute.
    public var ownMembers: [String] {
        switch self {
        case .messages: Self.membersOfMessages
        case .people: Self.membersOfPeople
        }
    }

    /// Returns a contributed time in the form that the object's own times have.
    public func text(of time: Timestamp) -> String {
        switch self {
        case .messages: time.iso
        case .people: time.isoSeconds
        }
    }
}

extension Contribution {
    /// True if every field is of a kind that any object can have: no badge, no activity, no `laterTime`.
    public var isOfPlainFields: Bool { fields.allSatisfy { $0.role == nil && $0.kind != .laterTime } }
}

extension Manifest {
    /// All contributions, each with the object to which it adds fields; nil for a Room.
    public var contributions: [(object: ShownObject?, contribution: Contribution)] {
        [(nil, contribution)].compactMap { object, contribution in contribution.map { (object, $0) } }
            + ShownObject.allCases.compactMap { object in objectContributions[object].map { (object, $0) } }
    }

    func writeObjectContributions(to json: inout JSONWriter) {
        for object in ShownObject.allCases {
            if let contribution = objectContributions[object] { json.member(object.contribution, contribution.json) }
        }
    }

    /// Reads the contributions to objects other than Rooms. One with a field that only a Room can have is left out.
    static func objectContributions(_ json: JSONObject) -> [ShownObject: Contribution] {
        var found: [ShownObject: Contribution] = [:]
        for object in ShownObject.allCases {
            guard let contribution = json[object.contribution].flatMap(Contribution.init), contribution.isOfPlainFields
            else { continue }
            found[object] = contribution
        }
        return found
    }
}
