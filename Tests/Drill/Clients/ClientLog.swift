/// The acknowledgements and events that a client received.
struct ClientLog: Sendable {
    struct Message: Sendable {
        let roomID: String
        let tempID: String
        let id: String
        let seq: Int
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
    var deletedMessages: [String] = []
    var reads: [String] = []
    var elements: [Element] = []
    var updates: [Update] = []
    var deletedElements: [String] = []
    var clears = 0
    var rooms: [NewRoom] = []

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

    mutating func fault(_ text: String) { if faults.count < 20 { faults.append(text) } }

    /// The events received.
    struct ReceivedEvent: Sendable {
        /// Received events, by room.
        var chats: [String: DeliveryLog] = [:]
        var boards: [String: DeliveryLog] = [:]
        /// Ids of the rooms that the person was notified of as new, in order.
        var newRooms: [String] = []
    }

    mutating func noteGaps(in rooms: [String]) {
        reloads += 1
        for roomID in rooms {
            received.chats[roomID, default: DeliveryLog()].noteGap()
            received.boards[roomID, default: DeliveryLog()].noteGap()
        }
    }
}
