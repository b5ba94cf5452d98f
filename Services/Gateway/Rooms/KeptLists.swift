import Contracts
import EventLog
import ServiceKit
import Synchronization

/// The lists of rooms that were answered last, and which of their rooms were changed since: an entry of a log concerns its room, as all of its
/// participants see it.
///
/// It knows how far each log was followed, so that whoever knows where the logs end can tell whether a list is still what its services would
/// answer. Whose lists were not asked for for the longest time loses them first.
final class KeptLists: Sendable {
    /// Bytes of lists in a generation; two generations are kept. Seventy lists of 200 rooms, or seven hundred of 20, or one of 13,000, which leaves
    /// little room to others; a longer one is not kept.
    static let generationBytes = 16 << 20

    struct Key: Hashable, Sendable {
        let userID: String
        let sort: ComposedRoom.Sort
    }

    struct Kept: Sendable {
        var list: RoomList
        /// The rooms that were changed since: in the list or new to it.
        var stale: Set<String> = []

        /// Whether it is better composed anew.
        var isUseless: Bool { stale.count > maxStale || stale.contains("") }

        /// Whether the rooms that were changed are all that is to be asked for: a new one has no place in it yet.
        var isMendable: Bool { !isUseless && stale.isSubset(of: list.roomIDs) }

        /// A room that is asked for by itself takes about twice what it takes among all of them. Of a short list all may be: that is over in a
        /// millisecond, and the next change finds a list to mend. Of a long one no more than a few requests' worth of questions, as those of
        /// other people wait in the same line.
        private var maxStale: Int {
            min(max(list.count / 2, Self.maxStaleRange.lowerBound), Self.maxStaleRange.upperBound)
        }
        private static let maxStaleRange = 16...256

        /// In bytes.
        var size: Int { list.size + stale.count * Self.sizeOfID }
        private static let sizeOfID = 64
    }

    /// A list that is being composed.
    struct Ticket: Sendable {
        fileprivate let userID: String
        fileprivate let epoch: Int
        fileprivate let changes: Int
    }

    private struct Composing {
        var count = 0
        /// The entries that concerned the person since the first of those began.
        var changes = 0
    }

    private struct State {
        /// How far each log was followed, all that it concerns marked.
        var places: [String: LogPosition] = [:]
        /// By person, as entries concern all of one's lists.
        var people: Generations<String, [ComposedRoom.Sort: Kept]>
        var composing: [String: Composing] = [:]
        /// Counts what concerns everyone.
        var epoch = 0

        /// Lists that are too stale to be of use are dropped.
        mutating func note(_ roomID: String, of userID: String) {
            if !composing.isEmpty { composing[userID]?.changes += 1 }
            people.change(userID) { lists in
                for sort in ComposedRoom.Sort.allCases {
                    lists?[sort]?.stale.insert(roomID)
                    if lists?[sort]?.isUseless == true { lists?[sort] = nil }
                }
                if lists?.isEmpty == true { lists = nil }
            }
        }

        mutating func dropAll() {
            epoch += 1
            people.removeAll()
        }
    }

    private let generationBytes: Int
    private let state: Mutex<State>

    init(generationBytes: Int = KeptLists.generationBytes) {
        self.generationBytes = generationBytes
        state = Mutex(
            State(
                people: Generations(maxBytes: generationBytes, sizeOf: Self.size)))
    }

    private static func size(of lists: [ComposedRoom.Sort: Kept]) -> Int { lists.values.reduce(0) { $0 + $1.size } }

    // MARK: What logs tell

    /// A log is followed after this place. What stands before it was not seen, or was of another past.
    func start(_ stream: String, after place: LogPosition) {
        state.withLock { state in
            state.dropAll()
            state.places[stream] = place
        }
    }

    /// In order, and before anybody else is told.
    func note(_ broadcasts: [Broadcast], of stream: String) {
        state.withLock { state in
            guard let place = state.places[stream], let last = broadcasts.last else { return }
            var seq = place.seq
            for broadcast in broadcasts {
                // Its owner had no longer what is missing between: it may have concerned anybody.
                if broadcast.position.seq != seq + 1 { state.dropAll() }
                seq = broadcast.position.seq
                for userID in broadcast.participants { state.note(broadcast.roomID, of: userID) }
            }
            state.places[stream] = last.place(in: place.databaseID)
        }
    }

    /// How far each log was followed.
    var places: [String: LogPosition] { state.withLock { $0.places } }

    // MARK: Lists

    func has(_ key: Key) -> Bool {
        state.withLock { $0.people[key.userID]?[key.sort] != nil }
    }

    /// The list, and what was changed since, if that is known up to the logs' ends.
    ///
    /// - Parameters:
    ///   - ends: as the owners of all logs that matter have said.
    ///   - known: `places`, from before they were asked: an end before that, or another entry at it, is of another past, of which this
    ///     gateway is yet to be told.
    func list(_ key: Key, at ends: [String: LogPosition], after known: [String: LogPosition]) -> Kept? {
        state.withLock { state in
            for (stream, end) in ends {
                guard let earlier = known[stream], let place = state.places[stream],
                    earlier.databaseID == end.databaseID, place.databaseID == end.databaseID,
                    end.seq > earlier.seq || end == earlier, place.seq >= end.seq
                else { return nil }
            }
            return state.people.use(key.userID)?[key.sort]
        }
    }

    /// Who has rooms open is as the list says, after so many changes of that.
    func confirm(_ list: RoomList, _ key: Key) {
        state.withLock { state in
            state.people.change(key.userID) { lists in
                guard lists?[key.sort]?.list.tag == list.tag else { return }
                lists?[key.sort]?.list.presenceChanges = list.presenceChanges
            }
        }
    }

    /// To be called before services are asked; `end` follows.
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

    /// Keeps a list, unless something came meanwhile that it may lack.
    func keep(_ list: RoomList, _ key: Key, _ ticket: Ticket) {
        guard list.size <= generationBytes else { return }
        state.withLock { state in
            guard state.epoch == ticket.epoch, state.composing[key.userID]?.changes == ticket.changes else { return }
            var lists = state.people.remove(key.userID) ?? [:]
            lists[key.sort] = Kept(list: list)
            // All of a person's go together: no more of them than a generation has room for.
            if Self.size(of: lists) > generationBytes { lists = [key.sort: Kept(list: list)] }
            state.people.put(lists, for: key.userID)
        }
    }

    /// Of all that is kept.
    var size: Int { state.withLock { $0.people.bytes } }
}
