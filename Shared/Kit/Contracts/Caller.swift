import ParlorJSON

/// The sender of a request, as the gateway read it from a verified token. Its name may be older
/// than the person's current one.
public struct Caller: Sendable, Equatable {
    public let id: String
    public let username: String
    public let firstName: String?
    /// Written once by the gateway, as it goes with each request of a socket.
    private let written: JSONValue?

    public init(id: String, username: String, firstName: String?) {
        self.id = id
        self.username = username
        self.firstName = firstName
        written = Self.json(id, username, firstName)
    }

    public var json: JSONValue { written ?? Self.json(id, username, firstName) }

    private static func json(_ id: String, _ username: String, _ firstName: String?) -> JSONValue {
        JSONWriter.object(reservingCapacity: 128) {
            $0.member("id", id)
            $0.member("username", username)
            $0.member("firstName", firstName)
        }
    }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let id = object["id"]?.string, let username = object["username"]?.string else {
            return nil
        }
        (self.id, self.username, firstName) = (id, username, object["firstName"]?.string)
        written = nil
    }

    public static func == (a: Caller, b: Caller) -> Bool {
        (a.id, a.username, a.firstName) == (b.id, b.username, b.firstName)
    }
}
