import ParlorContracts
import ParlorEventLog

/// The newest entries that a loop has fanned out. Clients that were offline briefly are caught up from here,
/// without requests to services.
///
/// Two generations of each log are kept; the older one is dropped when the younger one is full.
struct ReplayBuffer {
    /// The limits of a generation: its entries, and their bytes.
    static let generationSize = 4096
    static let generationBytes = 4 << 20

    enum Lookup {
        /// The entries that concern the person, in order.
        case found([Broadcast])
        /// Some of the entries are no longer kept.
        case older
        /// The log is not followed or was replaced, or the position is after the last entry that this loop has fanned
        /// out.
        case unknown
    }

    private struct Generation {
        var entries: [Broadcast] = []
        var bytes = 0
        /// The indices of each person's entries: those of the participants, and of others whom events name.
        var byPerson: [String: [Int32]] = [:]

        /// If the entry deletes a message, removes the message's events, so that nobody who catches up gets its text.
        mutating func removeEvents(deletedBy deletion: Broadcast) {
            guard let id = deletion.deletedMessageID,
                let index = entries.lastIndex(where: {
                    $0.roomID == deletion.roomID && $0.entry.fact?.sentMessageID == id
                })
            else { return }
            bytes -= entries[index].entry.emissionsJSON.bytes.count
            entries[index] = Broadcast(entries[index].entry.withoutEmissions, of: deletion.position.log)
            bytes += entries[index].entry.emissionsJSON.bytes.count
        }

        /// Returns a person's entries after a position, and those of these rooms, in order.
        func entries(after seq: Int, of userID: String, _ rooms: Set<String>) -> [Broadcast] {
            // Entries are kept without gaps.
            let first = max(0, seq + 1 - (entries.first?.position.seq ?? 0))
            var own = byPerson[userID]?.drop { Int($0) < first } ?? []
            guard !rooms.isEmpty else { return own.map { entries[Int($0)] } }
            return entries.indices.dropFirst(first).filter { index in
                guard let next = own.first, next == index else { return rooms.contains(entries[index].roomID) }
                own.removeFirst()
                return true
            }.map { entries[$0] }
        }

        mutating func append(_ broadcast: Broadcast) {
            let index = Int32(entries.count)
            for id in broadcast.participants { byPerson[id, default: []].append(index) }
            for id in broadcast.namedPeople where byPerson[id]?.last != index {
                byPerson[id, default: []].append(index)
            }
            entries.append(broadcast)
            bytes += broadcast.entry.emissionsJSON.bytes.count
        }
    }

    private struct Log {
        /// The position before the first kept entry.
        var start: LogPosition
        var old = Generation()
        var young = Generation()

        var newest: Broadcast? { young.entries.last ?? old.entries.last }
        var seq: Int { newest?.position.seq ?? start.seq }

        /// Returns the entry at a position; entries are kept without gaps.
        func entry(at seq: Int) -> Broadcast? {
            let index = seq - start.seq - 1
            if index < old.entries.count { return old.entries[index] }
            let offset = index - old.entries.count
            return offset < young.entries.count ? young.entries[offset] : nil
        }
    }

    private var logs: [LogID: Log] = [:]
    private let generationSize: Int

    init(generationSize: Int = ReplayBuffer.generationSize) { self.generationSize = generationSize }

    /// Starts a log, or continues it after a gap.
    mutating func start(_ logID: LogID, after position: LogPosition) { logs[logID] = Log(start: position) }

    mutating func end(_ logID: LogID) { logs[logID] = nil }

    mutating func append(_ broadcast: Broadcast) {
        let position = broadcast.position
        guard var log = logs.removeValue(forKey: position.log) else { return }
        defer { logs[position.log] = log }
        guard position.seq == log.seq &+ 1 else {
            // The entries in between were pruned before they could be fetched.
            log = Log(start: broadcast.logPosition(in: log.start.databaseID))
            return
        }
        if log.young.entries.count >= generationSize || log.young.bytes >= Self.generationBytes {
            if let last = log.old.entries.last {
                log.start = last.logPosition(in: log.start.databaseID)
            }
            log.old = log.young
            log.young = Generation()
        }
        log.young.removeEvents(deletedBy: broadcast)
        log.old.removeEvents(deletedBy: broadcast)
        log.young.append(broadcast)
    }

    /// The position up to which each log was fanned out.
    var positions: [LogID: LogPosition] { logs.mapValues(Self.position) }

    func position(of logID: LogID) -> LogPosition? { logs[logID].map(Self.position) }

    /// Adds the entries of a log before the position from which it is followed: as many of the newest as
    /// fit into one generation.
    ///
    /// - Parameters:
    ///   - entries: all of the log's entries after `start`, in order, up to `end`.
    ///   - end: the position from which the log is followed. If it has changed meanwhile, the entries are not
    ///     used.
    mutating func backfill(
        _ logID: LogID, _ entries: [Broadcast], from start: LogPosition, to end: LogPosition
    ) {
        guard var known = logs[logID], known.start == end, known.old.entries.isEmpty,
            entries.last?.position.seq == end.seq, entries.count == end.seq - start.seq
        else { return }
        known.start = start
        for entry in entries { known.old.append(entry) }
        // They may have been read before these deletions.
        for deletion in known.young.entries { known.old.removeEvents(deletedBy: deletion) }
        logs[logID] = known
    }

    private static func position(_ log: Log) -> LogPosition {
        log.newest?.logPosition(in: log.start.databaseID) ?? log.start
    }

    /// Returns a person's entries of a log after a position, and all entries of these rooms.
    func entries(
        of logID: LogID, since position: LogPosition, for userID: String, ofRooms rooms: Set<String> = []
    ) -> Lookup {
        guard let log = logs[logID], log.start.databaseID == position.databaseID, position.seq <= log.seq else {
            return .unknown
        }
        guard position.seq >= log.start.seq else { return .older }
        let digest =
            position.seq == log.start.seq ? log.start.digest : log.entry(at: position.seq)?.entry.digest
        guard digest == position.digest else { return .unknown }
        return .found([log.old, log.young].flatMap { $0.entries(after: position.seq, of: userID, rooms) })
    }
}
