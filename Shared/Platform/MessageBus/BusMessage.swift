import JSON

/// What an event or a reply says. Between processes it travels as JSON; a bus within one hands it on as it is.
public protocol BusPayload: Sendable {
    var json: JSONValue { get }

    /// No less than what `json` has: it tells most that are short enough for the bus before any JSON is made.
    var maxBytes: Int { get }
}

extension JSONValue: BusPayload {
    public var json: JSONValue { self }
    public var maxBytes: Int { bytes.count }
}

/// An event as a subscriber gets it.
public struct BusMessage: Sendable {
    public let subject: String
    /// What was published, if that was in this process; else its JSON.
    public let payload: any BusPayload

    public init(subject: String, payload: any BusPayload) {
        self.subject = subject
        self.payload = payload
    }

    /// Made anew with each call, unless it came so.
    public var data: JSONValue { payload.json }
}
