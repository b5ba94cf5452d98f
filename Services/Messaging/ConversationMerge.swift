/// Finds the newest messages of several rooms together, the latest first.
///
/// It takes messages from the room whose next one is the latest, like a merge of sorted lists. A room is read
/// only when its turn comes. The first read takes the room's share of the page. Each later one takes as many
/// messages as the earlier ones together. So all reads take about two pages of messages at most, however the
/// rooms' messages interleave. The next room comes off a heap, so a message costs the logarithm of the number
/// of started rooms. It is a value that one database read passes to the next, so that other reads run in
/// between.
struct ConversationMerge: Sendable {
    /// The messages of a room that have been read so far.
    struct Room: Sendable {
        fileprivate let id: String
        /// An upper bound: its messages that are not on the page yet are at or before this cursor.
        fileprivate var bound: ConversationCursor
        /// Messages from this `seq` on were already read, or are not before the cursor.
        fileprivate var end: Int
        /// The number of messages to read next, and of those read.
        fileprivate var step = 0
        fileprivate var total = 0
        /// The messages that were read and are not on the page yet, the latest last.
        fileprivate var read: [Message] = []
        fileprivate var isRead = false

        /// Creates a room whose newest message is known.
        init(_ head: ConversationHead) {
            id = head.roomID
            bound = head.cursor
            end = head.cursor.seq + 1
        }

        /// Creates a room from its chat: its last change is no earlier than its newest message.
        init(_ chat: Chat) {
            id = chat.roomID
            bound = ConversationCursor(createdAt: chat.updatedAt, seq: .max, messageID: "")
            end = chat.lastSeq + 1
        }
    }

    private let count: Int
    /// The rooms that were not read, the latest last.
    private var waiting: [Room]
    /// The started rooms, except those at their end: a heap with the latest bound first.
    private var started: [Room] = []
    /// The page, latest first.
    private(set) var page: [Message] = []
    private(set) var isDone = false

    /// - Parameter rooms: the rooms, each once, in any order.
    init(of count: Int, from rooms: [Room]) {
        self.count = count
        let step = max(count / max(rooms.count, 1), 1)
        waiting = rooms.sorted { $0.bound < $1.bound }
        for index in waiting.indices { waiting[index].step = step }
    }

    /// Continues until the page is full, the rooms are at their ends, or the number of queries is reached.
    mutating func advance(on messages: MessagesStore, queries: Int) throws {
        var left = queries
        while page.count < count {
            startNext()
            guard !started.isEmpty else { break }
            if let message = started[0].read.popLast() {
                page.append(message)
                settleFirst()
            } else {
                guard left > 0 else { return }
                left -= 1
                try readFirst(messages)
            }
        }
        isDone = true
    }

    private mutating func readFirst(_ messages: MessagesStore) throws {
        let step = min(started[0].step, count - page.count)
        let read = try messages.newest(in: started[0].id, before: started[0].end, count: step)
        started[0].read = read.reversed()
        started[0].total += read.count
        started[0].isRead = read.count < step
        started[0].step = max(started[0].step, started[0].total)
        if let oldest = read.last { started[0].end = oldest.seq }
        settleFirst()
    }

    // MARK: The heap

    /// Starts the next waiting room if its bound is later than all others': the next message may be in it
    /// then.
    private mutating func startNext() {
        guard let next = waiting.last, started.first.map({ $0.bound < next.bound }) ?? true else { return }
        waiting.removeLast()
        started.append(next)
        // Move it to the root, as it is later than all others.
        var index = started.endIndex - 1
        while index > 0 {
            let parent = (index - 1) / 2
            started.swapAt(index, parent)
            index = parent
        }
    }

    /// Updates the bound of the first room, which is no later than before. A room without more
    /// messages is removed.
    private mutating func settleFirst() {
        if let next = started[0].read.last {
            started[0].bound = ConversationCursor(next)
        } else if started[0].isRead {
            started.swapAt(0, started.endIndex - 1)
            started.removeLast()
        }
        var index = 0
        while true {
            let children = (2 * index + 1)..<min(2 * index + 3, max(started.endIndex, 2 * index + 1))
            guard let later = children.max(by: { started[$0].bound < started[$1].bound }),
                started[index].bound < started[later].bound
            else { return }
            started.swapAt(index, later)
            index = later
        }
    }
}
