/// What a client was acknowledged, and what it heard.
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
        /// nil: a retry was told that it had been made, and was deleted since.
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

    /// Errors that may be retried; an ack that never came.
    var refusals = 0
    var lostAcks = 0
    var connects = 0
    /// How often the server said that it could not be caught up.
    var reloads = 0
    var longestWait: Duration = .zero
    /// What should not have been answered.
    var faults: [String] = []

    var acknowledged: Int {
        messages.count + deletedMessages.count + reads.count + elements.count + updates.count + deletedElements.count
            + clears + rooms.count
    }

    mutating func fault(_ text: String) { if faults.count < 20 { faults.append(text) } }

    /// What was heard.
    struct ReceivedEvent: Sendable {
        /// By room.
        var chats: [String: DeliveryLog] = [:]
        var boards: [String: DeliveryLog] = [:]
        /// Ids of the rooms that it was told of as new, in order.
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
