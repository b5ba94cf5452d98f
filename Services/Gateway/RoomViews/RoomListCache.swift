import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import Synchronization

/// Caches people's lists of rooms, with the rooms that have changed since, and the last values of services
/// for outages (`StaleRoomCache`).
///
/// A log entry changes its room in the lists of all participants of the entry. The cache notes the position up to which
/// each log was followed. A caller compares it with the log's head, to learn whether a list is still what its services
/// would reply. The least recently requested person's lists are evicted first.
package final class RoomListCache: Sendable {
    /// The bytes of lists in a generation; there are two generations. It suffices for seventy lists of 200 rooms,
    /// or seven hundred of 20. A list of 13,000 rooms almost fills it, and a longer one is not cached.
    package static let generationBytes = 16 << 20

    struct Key: Hashable, Sendable {
        let userID: String
        let sort: RoomSort
    }

    /// A set of logs. Logs beyond the 63rd share a bit: they count as one.
    struct LogSet: OptionSet, Sendable {
        let rawValue: UInt64

        init(rawValue: UInt64) { self.rawValue = rawValue }
        fileprivate init(index: Int) { rawValue = 1 << UInt64(min(index, 63)) }
        fileprivate static let all = LogSet(rawValue: .max)
    }

    struct Cached: Sendable {
        var list: RoomList
        /// The rooms that have changed since, in the list or new to it, and the logs whose entries changed
        /// them.
        var changes: [String: LogSet] = [:]

        /// True if composing the whole list is cheaper than a patch.
        var isUseless: Bool { changes.count > maxChanges || changes[""] != nil }

        /// True if recomposing only the changed rooms gives the current list. It does not if a room is new.
        var isPatchable: Bool { !isUseless && list.contains(changes.keys) }

        /// The limit of changed rooms for a patch. A room that is requested alone takes about twice as long as one
        /// among all. In a list of up to 16 rooms all may be patched: that takes a millisecond, and keeps the list
        /// cached. In a long list the limit is the number of rooms that fit into a few requests, as other people's
        /// requests wait in the same queue.
        private var maxChanges: Int {
            min(max(list.count / 2, Self.changesRange.lowerBound), Self.changesRange.upperBound)
        }
        private static let changesRange = 16...256

        /// The size in bytes.
        var size: Int { list.size + changes.count * Self.sizeOfChange }
        private static let sizeOfChange = 64
    }

    /// A token for a list that is being composed.
    struct Ticket: Sendable {
        fileprivate let userID: String
        fileprivate let epoch: Int
        fileprivate let changes: Int
    }

    private struct Composing {
        var count = 0
        /// The number of entries that have concerned the person since the first of these lists was begun.
        var changes = 0
    }

    private struct State {
        /// The position of each log up to which all changed rooms are marked.
        var positions: [LogID: LogPosition] = [:]
        /// The index of each log in a `LogSet`.
        var logs: [LogID: Int] = [:]
        /// The lists by person, as an entry concerns all lists of a person.
        var people: Generations<String, [RoomSort: Cached]>
        var composing: [String: Composing] = [:]
        /// Counts the changes that concern everyone.
        var epoch = 0

        /// Marks a room as changed in a person's lists. Lists that have changed too much to be useful are
        /// dropped.
        mutating func note(_ roomID: String, of userID: String, by log: LogSet) {
            if !composing.isEmpty { composing[userID]?.changes += 1 }
            people.change(userID) { lists in
                // Take the lists out of the table, so that they are changed without a copy.
                guard var changed = lists else { return }
                lists = nil
                var index = changed.startIndex
                var hasUseless = false
                while index < changed.endIndex {
                    changed.values[index].changes[roomID, default: []].formUnion(log)
                    hasUseless = hasUseless || changed.values[index].isUseless
                    changed.formIndex(after: &index)
                }
                if hasUseless { changed = changed.filter { !$0.value.isUseless } }
                if !changed.isEmpty { lists = changed }
            }
        }

        func isFollowed(_ logID: LogID, to head: LogPosition, after earlier: LogPosition?) -> Bool {
            guard let earlier, let position = positions[logID] else { return false }
            return earlier.databaseID == head.databaseID && position.databaseID == head.databaseID
                && (head.seq > earlier.seq || head == earlier) && position.seq >= head.seq
        }

        mutating func index(of logID: LogID) -> Int {
            if let index = logs[logID] { return index }
            logs[logID] = logs.count
            return logs.count - 1
        }

        mutating func dropAll() {
            epoch += 1
            people.removeAll()
        }
    }

    let stale = StaleRoomCache()
    private let generationBytes: Int
    private let state: Mutex<State>

    package init(generationBytes: Int = RoomListCache.generationBytes) {
        self.generationBytes = generationBytes
        state = Mutex(State(people: Generations(maxBytes: generationBytes, sizeOf: Self.size)))
    }

    private static func size(of lists: [RoomSort: Cached]) -> Int { lists.values.reduce(0) { $0 + $1.size } }

    /// The size of all cached lists, in bytes.
    package var size: Int { state.withLock { $0.people.bytes } }

    // MARK: Log entries

    /// Starts to follow a log after this position, and drops all lists. Earlier entries were not seen, or belonged
    /// to a log that was replaced.
    package func start(_ logID: LogID, after position: LogPosition) {
        state.withLock { state in
            state.dropAll()
            state.positions[logID] = position
        }
    }

    /// Marks the rooms of entries as changed. Called in each log's order, and before any client is sent the
    /// entries' events.
    package func note(_ entries: [LogEntry], of logID: LogID) {
        state.withLock { state in
            guard let position = state.positions[logID], let last = entries.last else { return }
            let log = LogSet(index: state.index(of: logID))
            var seq = position.seq
            for entry in entries {
                // The missing entries were pruned at the owner, and may have concerned anyone.
                if entry.seq != seq + 1 { state.dropAll() }
                seq = entry.seq
                for userID in entry.participants { state.note(entry.roomID, of: userID, by: log) }
            }
            state.positions[logID] = LogPosition(after: last, in: position.databaseID)
        }
    }

    /// Notes that a person has opened a room: services may know changes that are not in the person's cached
    /// lists, from entries that have not arrived here.
    package func noteVisit(to roomID: String, by userID: String) {
        state.withLock { $0.note(roomID, of: userID, by: .all) }
    }

    /// The position of each log up to which it was followed.
    package var positions: [LogID: LogPosition] { state.withLock { $0.positions } }

    /// Returns true if a log was followed to its head, and was not replaced meanwhile.
    ///
    /// - Parameters:
    ///   - head: the head from the log's owner; nil if it did not answer.
    ///   - earlier: the log's position in `positions` from before the owner was asked.
    func isFollowed(_ logID: LogID, to head: LogPosition?, after earlier: LogPosition?) -> Bool {
        guard let head else { return false }
        return state.withLock { $0.isFollowed(logID, to: head, after: earlier) }
    }

    // MARK: Lists

    func has(_ key: Key) -> Bool { state.withLock { $0.people[key.userID]?[key.sort] != nil } }

    /// Returns the list and its changes since, if those are known up to the logs' heads.
    ///
    /// - Parameters:
    ///   - logs: the logs of the list. One whose head is not known is not compared.
    ///   - heads: the heads from the owners of the logs.
    ///   - known: `positions` from before the owners were asked. If a head is before it, or names another
    ///     entry at the same number, the log was replaced and this gateway has not noticed yet.
    func list(
        _ key: Key, from logs: [LogID], at heads: [LogID: LogPosition], after known: [LogID: LogPosition]
    ) -> Cached? {
        state.withLock { state in
            for logID in logs {
                guard let head = heads[logID] else { continue }
                guard state.isFollowed(logID, to: head, after: known[logID]) else { return nil }
            }
            return state.people.use(key.userID)?[key.sort]
        }
    }

    /// Notes that the cached list was returned unchanged, because services would still reply the same.
    ///
    /// - Parameter list: the list with the value of `Presence.changes` at which the caller compared who has the rooms
    ///   open. The cache stores this value, so the next caller need not compare again.
    func noteAnswered(_ list: RoomList, _ key: Key) {
        stale.renew(key.userID)
        state.withLock { state in
            guard let cached = state.people[key.userID]?[key.sort]?.list,
                cached.presenceChanges != list.presenceChanges
            else { return }
            state.people.change(key.userID) { lists in
                guard lists?[key.sort]?.list.tag == list.tag else { return }
                lists?[key.sort]?.list.presenceChanges = list.presenceChanges
            }
        }
    }

    /// Begins to compose a list. To be called before services are asked; `end` must follow.
    func begin(_ userID: String) -> Ticket {
        state.withLock { state in
            state.composing[userID, default: Composing()].count += 1
            return Ticket(userID: userID, epoch: state.epoch, changes: state.composing[userID]?.changes ?? 0)
        }
    }

    func end(_ ticket: Ticket) {
        state.withLock { state in
            guard var composing = state.composing[ticket.userID] else { return }
            composing.count -= 1
            state.composing[ticket.userID] = composing.count == 0 ? nil : composing
        }
    }

    /// Caches a list, unless an entry arrived meanwhile that it may lack.
    func put(_ list: RoomList, _ key: Key, _ ticket: Ticket) {
        guard list.size <= generationBytes else { return }
        state.withLock { state in
            guard state.epoch == ticket.epoch, state.composing[key.userID]?.changes == ticket.changes else { return }
            var lists = state.people.remove(key.userID) ?? [:]
            lists[key.sort] = Cached(list: list)
            // All lists of a person are evicted together, so they must fit into a generation.
            if Self.size(of: lists) > generationBytes { lists = [key.sort: Cached(list: list)] }
            state.people.put(lists, for: key.userID)
        }
    }

    // MARK: Badges

    /// The length above which a list is not searched for a room.
    private static let maxSearched = 1000

    /// Returns a person's badges in a room. They come from a cached list in which the badges of these services are
    /// current. A badge is current if its service logs each change, and no entry of that log has concerned the room
    /// since the list was composed.
    ///
    /// - Parameter revision: the revision of the catalog that names the badges' owners.
    /// - Returns: nil if there is no such list.
    func badges(
        in roomID: String, of userID: String, from services: [String], catalogRevision revision: Int
    ) -> [String: JSONValue]? {
        let list = state.withLock { state -> RoomList? in
            let owners = state.logs.reduce(into: LogSet()) { owners, log in
                if services.contains(log.key.service) { owners.formUnion(LogSet(index: log.value)) }
            }
            let current = state.people[userID]?.values.first { cached in
                cached.list.catalogRevision == revision && cached.list.count <= Self.maxSearched
                    && !services.contains(where: cached.list.unlogged.services.contains)
                    && cached.changes[roomID, default: []].isDisjoint(with: owners)
            }
            return current?.list
        }
        let badges = list?.room(roomID)?["badges"]?.object?.all
        return badges.map { Dictionary($0.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }) }
    }
}
