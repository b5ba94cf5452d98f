import JSON

/// An event as a subscriber gets it.
public struct BusMessage: Sendable {
    public let subject: String
    public let data: JSONValue

    public init(subject: String, data: JSONValue) {
        self.subject = subject
        self.data = data
    }
}
