import JSON

/// A change as it is told to others: what must not be lost between a commit and every connected client.
public struct LogEntry: Sendable, Equatable {
    /// Its position: the order of commits, without gaps.
    public let seq: Int
    /// Milliseconds since 1970, UTC.
    public let at: Int
    public let roomID: String
    /// The ids of the people in the room at that time.
    public let participants: [String]
    /// An array, ready to send.
    public let emissions: JSONValue
    /// Of the request that made the change, for logs; nil if none did.
    public let requestID: String?

    public init(
        seq: Int, at: Int, roomID: String, participants: [String], emissions: JSONValue, requestID: String? = nil
    ) {
        self.seq = seq
        self.at = at
        self.roomID = roomID
        self.participants = participants
        self.emissions = emissions
        self.requestID = requestID
    }
}
