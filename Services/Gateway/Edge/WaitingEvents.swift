/// A socket's waiting events in order, up to a limit.
struct WaitingEvents {
    static let maxCount = 4096
    static let maxBytes = 4 << 20

    private var arrived: [ClientEvent] = []
    /// The earlier half, reversed, so that taken events are released at once.
    private var leaving: [ClientEvent] = []
    /// The approximate memory of the waiting events.
    private(set) var bytes = 0

    var isEmpty: Bool { arrived.isEmpty && leaving.isEmpty }

    /// - Returns: false if there is no room.
    mutating func append(_ event: ClientEvent) -> Bool {
        guard arrived.count + leaving.count < Self.maxCount, bytes + event.size <= Self.maxBytes else { return false }
        bytes += event.size
        arrived.append(event)
        return true
    }

    var first: ClientEvent? { leaving.last ?? arrived.first }

    mutating func popFirst() -> ClientEvent? {
        if leaving.isEmpty {
            leaving = arrived.reversed()
            arrived = []
        }
        guard let event = leaving.popLast() else { return nil }
        bytes -= event.size
        return event
    }
}
