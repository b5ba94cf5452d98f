import Foundation

/// Knows which cached messages are current, also after a restart of the app. Their rooms are entered without a page.
///
/// The cached messages of a room are written with a step. A step stands for a cursor: the messages have all events up
/// to it. The next connect replays all events after the cursor. If events of messages are among them, the connect
/// begins a new step, which records the rooms of these events. So cached messages are current if no later step has
/// their room. The join of the room then sends the events since the connect, or since the room was left.
///
/// The steps are stored with the cursor, after each connect. A step that was lost with the end of the app is unknown to
/// the next run, and messages written with it are fetched again.
///
/// Once a page had fields that services add to messages, a page is always fetched. Messages in events lack these
/// fields, and a field may change while the room is left. If a service is added later, the client notices its fields
/// with the next page of any room.
final class FreshRooms: Sendable {
    /// The limit of steps. The server keeps events for a day. Messages of an earlier step are fetched again.
    static let maxSteps = 64
    /// The limit of rooms in a step. If more have changed, all rooms are fetched again.
    static let maxRooms = 256
    /// The limit of replayed events that are kept for one room, and of those for all rooms.
    static let maxEvents = (room: 200, all: 2_000)

    struct Position: Codable, Equatable, Sendable {
        /// The cursor from which the next connect replays.
        var cursor: String
        /// The oldest first. The last one stands for the cursor.
        var steps: [Step]
        /// True once a page had fields of plugins.
        var hasFields = false

        struct Step: Codable, Equatable, Sendable {
            var id: String
            /// The rooms with events since the step before.
            var changed: Set<String>
        }

        /// Returns true if messages that were written with a step have all events up to the cursor.
        ///
        /// - Parameter leavesOutLast: true if the last step does not count.
        func isCurrent(_ step: String?, in roomID: String, leavingOutLast leavesOutLast: Bool = false) -> Bool {
            guard let index = steps.firstIndex(where: { $0.id == step }) else { return false }
            let end = leavesOutLast ? steps.count - 1 : steps.count
            return index < end && !steps[index..<end].dropFirst().contains { $0.changed.contains(roomID) }
        }
    }

    /// What has to be stored at the end of a replay.
    struct Advance: Sendable {
        var position: Position
        /// The replayed events of rooms that were not open. Rooms with too many are not among them.
        var events: [String: [RoomEvent]] = [:]
    }

    private struct State {
        var position: Position?
        /// True from the end of a replay to the end of the connection.
        var isLive = false
        /// True if replayed events of this connection were not noted as such, because its replay took too long.
        var lacksReplay = false
        /// True once a page had fields of plugins.
        var hasFields = false
        /// The rooms whose cached messages lack an event of this connection. It is not sent again on a join.
        var stale: Set<String> = []
        /// The rooms with events in this replay.
        var changed: Set<String> = []
        /// The replayed events of rooms that are not open.
        var replayed: [String: [RoomEvent]] = [:]
        var replayedCount = 0

        mutating func forgetReplay() { (changed, replayed, replayedCount) = ([], [:], 0) }
    }

    private let state = Guarded(State())

    /// Continues from a stored position, before the first connect.
    func resume(from position: Position?) {
        state.withLock { state in
            guard let position, state.position == nil else { return }
            state.position = position
            state.hasFields = state.hasFields || position.hasFields
        }
    }

    // MARK: Connections

    /// Takes an update of the socket.
    ///
    /// - Parameters:
    ///   - cursor: with `recovered`, the cursor of the connection.
    ///   - isReplayed: true before the end of the replay.
    ///   - isOpen: returns true if an open conversation applies a room's events.
    /// - Returns: the end of a replay, to be stored.
    func take(_ update: SocketUpdate, cursor: String?, isReplayed: Bool, isOpen: (String) -> Bool) -> Advance? {
        switch update {
        case .connecting, .refusedRoom, .joined: break
        case .connected: noteConnected()
        case .disconnected: state.withLock { $0.isLive = false }
        case .recovered(let isWhole): return advance(to: cursor, isWhole: isWhole)
        case .event(let event):
            if let roomID = event.messageRoomID {
                note(event, in: roomID, isReplayed: isReplayed, isOpen: isOpen(roomID))
            }
        }
        return nil
    }

    func noteConnected() {
        state.withLock { state in
            state.lacksReplay = false
            state.forgetReplay()
        }
    }

    /// Notes an event that only sockets in the room get, such as a new message.
    ///
    /// - Parameters:
    ///   - isReplayed: true if it came before the end of the replay.
    ///   - isOpen: true if an open conversation applies it.
    func note(_ event: RoomEvent, in roomID: String, isReplayed: Bool, isOpen: Bool) {
        state.withLock { state in
            if isReplayed {
                let isNew = state.changed.insert(roomID).inserted
                guard !isOpen, isNew || state.replayed[roomID] != nil else {
                    state.replayed[roomID] = nil
                    return
                }
                state.replayed[roomID, default: []].append(event)
                state.replayedCount += 1
                if state.replayed[roomID, default: []].count > Self.maxEvents.room
                    || state.replayedCount > Self.maxEvents.all
                {
                    state.replayed[roomID] = nil
                }
            } else if !isOpen {
                // The server had not handled the leave yet, or the app itself has joined the room.
                state.stale.insert(roomID)
            }
        }
    }

    /// Notes the end of a replay.
    ///
    /// - Parameters:
    ///   - cursor: the cursor of the connection; nil if the server has none.
    ///   - isWhole: true if all events since the last cursor were replayed.
    /// - Returns: what to store; nil if there is nothing.
    func advance(to cursor: String?, isWhole: Bool) -> Advance? {
        state.withLock { state in
            defer { state.forgetReplay() }
            guard let cursor else {
                (state.isLive, state.lacksReplay) = (false, true)
                return nil
            }
            // The end of the replay has come after all. Some of its events are forgotten.
            let isWhole = isWhole && !state.lacksReplay
            state.lacksReplay = false
            let next = Position.Step(id: UUID().uuidString, changed: state.changed)
            var position = Position(cursor: cursor, steps: [next], hasFields: state.hasFields)
            if isWhole, next.changed.count <= Self.maxRooms, let before = state.position {
                // Without an event, the step before stands for this cursor, too.
                position.steps = before.steps + (next.changed.isEmpty ? [] : [next])
                position.steps.removeFirst(max(0, position.steps.count - Self.maxSteps))
            }
            (state.position, state.isLive, state.stale) = (position, true, [])
            return Advance(position: position, events: isWhole ? state.replayed : [:])
        }
    }

    // MARK: Rooms

    /// The step for cached messages that have all events of this connection; nil without a connection.
    var step: String? { state.withLock { $0.isLive ? $0.position?.steps.last?.id : nil } }

    /// Returns the step if this is the cursor of the connection.
    func step(on cursor: String?) -> String? {
        state.withLock { $0.isLive && $0.position?.cursor == cursor ? $0.position?.steps.last?.id : nil }
    }

    /// Notes that the cached messages lack an event of this connection.
    func noteStale(_ roomID: String) { state.withLock { _ = $0.stale.insert(roomID) } }

    /// Notes that a conversation has all messages of the room, and gets all events.
    func noteVerified(_ roomID: String) { state.withLock { _ = $0.stale.remove(roomID) } }

    /// Notes whether the server's messages have fields of plugins.
    ///
    /// - Returns: the position to store; nil if there is none, or if it has not changed.
    func note(_ page: Page<Message>) -> Position? {
        guard !page.items.allSatisfy(\.extras.isEmpty) else { return nil }
        return state.withLock { state in
            guard !state.hasFields else { return nil }
            state.hasFields = true
            state.position?.hasFields = true
            return state.position
        }
    }

    func isCurrent(_ step: String?, in roomID: String) -> Bool {
        state.withLock { $0.position?.isCurrent(step, in: roomID) ?? false }
    }

    /// - Parameter cursor: the cursor of the connection.
    /// - Returns: the cached messages as a page; nil if they may be out of date.
    func page(of cached: CachedMessages, in roomID: String, on cursor: String?) -> Page<Message>? {
        let isFresh = state.withLock { state in
            guard state.isLive, let position = state.position, position.cursor == cursor else { return false }
            return !state.hasFields && !state.stale.contains(roomID)
                && position.isCurrent(cached.step, in: roomID)
        }
        guard isFresh, cached.messages.allSatisfy(\.extras.isEmpty) else { return nil }
        // A screen needs some messages. The app may have set the limit of cached messages to 0.
        guard !cached.messages.isEmpty || !cached.hasOlder else { return nil }
        return Page(items: cached.messages, next: cached.hasOlder ? "" : nil)
    }
}

extension RoomEvent {
    /// The room of a message event that goes only to sockets in that room; nil for other events.
    var messageRoomID: String? {
        switch self {
        case .messageNew(let message): message.roomID
        case .messageDeleted(let roomID, _, _), .messagesRead(let roomID, _, _, _): roomID
        default: nil
        }
    }
}
