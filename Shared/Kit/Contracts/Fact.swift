import ParlorJSON

/// A change in a service's domain, for other services. The content that it lacks, such as a message's text, is in the
/// first event for clients after it.
///
/// It is the first element of the entry's array of emissions. It has no `event`, so a reader that
/// does not know facts skips it.
public enum Fact: Sendable, Equatable {
    /// A person sent a message to the entry's room.
    case messageSent(id: String, senderID: String, senderName: String)
    /// A person read messages in the entry's room.
    case messagesRead(userID: String)
    /// A message of the entry's room was deleted.
    case messageDeleted(id: String)
    /// An element was put on the board of the entry's room.
    case elementCreated(id: String)
    /// The content or the position of an element was replaced.
    case elementUpdated(id: String)
    /// An element was deleted from the board of the entry's room.
    case elementDeleted(id: String)
    /// All elements were deleted from the board of the entry's room.
    case boardCleared
    /// The entry's room was created.
    case roomCreated
    /// The entry's room was renamed.
    case roomRenamed
    /// The fields that the service adds to these messages and people have changed, for whoever sees them.
    case fieldsChanged(messageIDs: [String] = [], personIDs: [String] = [])

    /// The size of a usual fact on the wire, in bytes.
    static let usualBytes = 192

    public func write(to json: inout JSONWriter) {
        json.object {
            switch self {
            case .messageSent(let id, let senderID, let senderName):
                $0.member("fact", "messageSent")
                $0.member("id", id)
                $0.member("senderId", senderID)
                $0.member("senderName", senderName)
            case .messagesRead(let userID):
                $0.member("fact", "messagesRead")
                $0.member("userId", userID)
            case .messageDeleted(let id):
                $0.member("fact", "messageDeleted")
                $0.member("id", id)
            case .elementCreated(let id):
                $0.member("fact", "elementCreated")
                $0.member("id", id)
            case .elementUpdated(let id):
                $0.member("fact", "elementUpdated")
                $0.member("id", id)
            case .elementDeleted(let id):
                $0.member("fact", "elementDeleted")
                $0.member("id", id)
            case .boardCleared: $0.member("fact", "boardCleared")
            case .roomCreated: $0.member("fact", "roomCreated")
            case .roomRenamed: $0.member("fact", "roomRenamed")
            case .fieldsChanged(let messageIDs, let personIDs):
                $0.member("fact", "fieldsChanged")
                $0.member(ShownObject.messages.ids, messageIDs)
                $0.member(ShownObject.people.ids, personIDs)
            }
        }
    }

    /// Parses the result of `write(to:)`; nil for anything else, and for a fact that only a newer service
    /// knows.
    public init?(_ json: JSONValue) {
        guard let object = json.object else { return nil }
        switch object["fact"]?.string {
        case "messageSent":
            guard let id = object["id"]?.string, let senderID = object["senderId"]?.string,
                let senderName = object["senderName"]?.string
            else { return nil }
            self = .messageSent(id: id, senderID: senderID, senderName: senderName)
        case "messagesRead":
            guard let userID = object["userId"]?.string else { return nil }
            self = .messagesRead(userID: userID)
        case "messageDeleted":
            guard let id = object["id"]?.string else { return nil }
            self = .messageDeleted(id: id)
        case "elementCreated":
            guard let id = object["id"]?.string else { return nil }
            self = .elementCreated(id: id)
        case "elementUpdated":
            guard let id = object["id"]?.string else { return nil }
            self = .elementUpdated(id: id)
        case "elementDeleted":
            guard let id = object["id"]?.string else { return nil }
            self = .elementDeleted(id: id)
        case "boardCleared": self = .boardCleared
        case "roomCreated": self = .roomCreated
        case "roomRenamed": self = .roomRenamed
        case "fieldsChanged":
            // Either may be left out.
            let ids = ShownObject.allCases.map { object[$0.ids]?.array?.compactMap(\.string) ?? [] }
            self = .fieldsChanged(messageIDs: ids[0], personIDs: ids[1])
        default: return nil
        }
    }
}
