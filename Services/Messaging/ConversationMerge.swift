/// Finds the newest messages of several rooms together, the latest first.
///
/// It takes messages from the room whose next one is the latest, as a merge of sorted lists does. A room is read only when its turn
/// comes: first the share of the page that each room has, then as much again as was read of it so far. So all rooms together are
/// read about twice as far as the page goes, whatever order their messages have. A value: one read of the database leaves it to the next, and
/// others' reads have their turn in between.
struct ConversationMerge: Sendable {
    /// What is known of a room.
    struct Room: Sendable {
        fileprivate let id: String
        /// None of its messages that are not on the page comes after this.
        fileprivate var bound: ConversationPlace
        /// Those from here on were read, or do not count.
        fileprivate var end: Int
        /// How many messages to read next, and how many were read.
        fileprivate var step = 0
        fileprivate var total = 0
        /// Read and not on the page yet, the latest last.
        fileprivate var read: [Message] = []
        fileprivate var isRead = false

        /// A room of which the newest message is known.
        init(_ head: ConversationHead) {
            id = head.roomID
            bound = head.place
            end = head.place.seq + 1
        }

        /// A room as a whole: its last change is no earlier than its newest message.
        init(_ chat: MessagingDatabase.Chat) {
            id = chat.roomID
            bound = ConversationPlace(createdAt: chat.updatedAt, seq: .max, messageID: "")
            end = chat.lastSeq + 1
        }
    }

    private let count: Int
    /// Rooms that were not read, the latest last.
    private var waiting: [Room]
    private var started: [Room] = []
    /// Latest first.
    private(set) var page: [Message] = []
    private(set) var isDone = false

    /// - Parameter rooms: each once, in any order.
    init(of count: Int, from rooms: [Room]) {
        self.count = count
        let step = max(count / max(rooms.count, 1), 1)
        waiting = rooms.sorted { $0.bound < $1.bound }
        for index in waiting.indices { waiting[index].step = step }
    }

    /// Goes on until the page is full, the rooms are at their ends, or so many queries were made.
    mutating func advance(on messages: MessagingDatabase, queries: Int) throws {
        var left = queries
        while page.count < count, let index = latest() {
            if let message = started[index].read.popLast() {
                page.append(message)
                settle(index)
            } else {
                guard left > 0 else { return }
                left -= 1
                try read(index, messages)
            }
        }
        isDone = true
    }

    /// The room that the next message is in, or may be in.
    private mutating func latest() -> Int? {
        let latest = started.indices.max { started[$0].bound < started[$1].bound }
        guard let next = waiting.last, latest.map({ started[$0].bound < next.bound }) ?? true else { return latest }
        started.append(waiting.removeLast())
        return started.endIndex - 1
    }

    private mutating func read(_ index: Int, _ messages: MessagingDatabase) throws {
        let step = min(started[index].step, count - page.count)
        let read = try messages.newest(in: started[index].id, before: started[index].end, count: step)
        started[index].read = read.reversed()
        started[index].total += read.count
        started[index].isRead = read.count < step
        started[index].step = max(started[index].step, started[index].total)
        if let oldest = read.last { started[index].end = oldest.seq }
        settle(index)
    }

    /// Sets the bound anew; a room that has no more goes.
    private mutating func settle(_ index: Int) {
        if let next = started[index].read.last {
            started[index].bound = ConversationPlace(next)
        } else if started[index].isRead {
            started.swapAt(index, started.endIndex - 1)
            started.removeLast()
        }
    }
}
