/// The requests for rooms that are in progress, and what events have changed since. The answer to a request may be older
/// than these events.
struct RoomLoads: Sendable {
    /// A request that is in progress.
    struct Load: Sendable {
        /// The number of changes at its start.
        fileprivate let begun: Int
    }

    enum Change: Hashable, CaseIterable, Sendable {
        case any
        /// The room's name or people.
        case description
        /// The room is no longer the person's.
        case removal
    }

    private var inFlight = 0
    /// Counts changes.
    private var count = 0
    /// The number of each room's last change of a kind, while requests are in progress. It includes rooms that the list
    /// lacks, because an answer may show that they are the person's.
    private var changes: [Change: [String: Int]] = [:]

    /// True if nothing has changed since the oldest request in progress.
    var isEmpty: Bool { changes.isEmpty }

    mutating func begin() -> Load {
        inFlight += 1
        return Load(begun: count)
    }

    mutating func end() {
        inFlight -= 1
        // No answer is left that could be older. A room that the list still lacks is not the person's.
        if inFlight == 0 { changes = [:] }
    }

    mutating func note(_ change: Change, of roomID: String) {
        count += 1
        guard inFlight > 0 else { return }
        for kind in [change, .any] { changes[kind, default: [:]][roomID] = count }
    }

    /// Notes that a room is the person's again.
    mutating func noteReturn(of roomID: String) { changes[.removal]?[roomID] = nil }

    /// Returns the rooms with such a change since a request.
    func rooms(with change: Change, since load: Load) -> Set<String> {
        Set((changes[change] ?? [:]).filter { $0.value > load.begun }.keys)
    }

    func changes(of roomID: String, since load: Load) -> Set<Change> {
        Set(Change.allCases.filter { has($0, of: roomID, since: load) })
    }

    func has(_ change: Change, of roomID: String, since load: Load) -> Bool {
        changes[change]?[roomID] ?? 0 > load.begun
    }
}
