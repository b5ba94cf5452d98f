/// The acknowledgements and events that a client received.
struct ClientLog: Sendable {
    struct Message: Sendable {
        let roomID: String
        let tempID: String
        let id: String
        let seq: Int
    }

    struct MessageID: Sendable {
        let roomID: String
        let id: String
    }

    struct Element: Sendable {
        let roomID: String
        let tempID: String
        /// The id; nil if the answer to a retry was that the element had been created and was deleted since.
        let id: String?
    }

    struct Update: Sendable {
        let elementID: String
        let version: Int
        let content: String
    }

    struct NewRoom: Sendable {
        let requestID: String
        let roomID: String
    }

    var messages: [Message] = []
    var deletedMessages: [MessageID] = []
    var reads: [MessageID] = []
    var elements: [Element] = []
    var updates: [Update] = []
    var deletedElements: [String] = []
    var clears = 0
    var rooms: [NewRoom] = []

    /// The groups that the person is in, as events say.
    var groups: Set<String> = []

    var received = ReceivedEvent()

    /// The number of retryable errors.
    var refusals = 0
    /// The number of missing acks.
    var lostAcks = 0
    var connects = 0
    /// The number of times that the server could not replay.
    var reloads = 0
    var longestWait: Duration = .zero
    /// Answers that should not have been given.
    var faults: [String] = []

    var acknowledged: Int {
        messages.count + deletedMessages.count + reads.count + elements.count + updates.count + deletedElements.count
            + clears + rooms.count
    }

    /// Returns the log without what was written into deleted rooms.
    func leavingOut(_ deletedRooms: Set<String>) -> ClientLog {
        var rest = self
        rest.messages.removeAll { deletedRooms.contains($0.roomID) }
        rest.deletedMessages.removeAll { deletedRooms.contains($0.roomID) }
        rest.reads.removeAll { deletedRooms.contains($0.roomID) }
        rest.elements.removeAll { deletedRooms.contains($0.roomID) }
        return rest
    }

    mutating func fault(_ text: String) { if faults.count < 20 { faults.append(text) } }

    /// The events received.
    struct ReceivedEvent: Sendable {
        /// Received events, by room.
        var chats: [String: DeliveryLog] = [:]
        var boards: [String: DeliveryLog] = [:]
        /// Events of who comes and goes, by group.
        var people: [String: DeliveryLog] = [:]
        /// Ids of the direct rooms that the person was notified of as new, in order.
        var newRooms: [String] = []

        mutating func restore(_ roomID: String, from earlier: ReceivedEvent) {
            chats[roomID] = earlier.chats[roomID]
            boards[roomID] = earlier.boards[roomID]
            people[roomID] = earlier.people[roomID]
        }
    }

    mutating func noteGap(in roomID: String) {
        received.chats[roomID, default: DeliveryLog()].noteGap()
        received.boards[roomID, default: DeliveryLog()].noteGap()
        received.people[roomID, default: DeliveryLog()].noteGap()
    }
}
