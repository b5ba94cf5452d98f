import ParlorContracts
import ParlorEventLog

/// The newest entries that a loop has fanned out. Clients that were away briefly are caught up from here,
/// without requests to services.
///
/// Two generations of each stream are kept; the older one is dropped when the younger one is full.
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
        /// The indices of each person's entries: those of the participants, and of others who are sent an event.
        var byPerson: [String: [Int]] = [:]

        /// If the entry deletes a message, removes the message's events, so that nobody who catches up gets its text.
        mutating func removeEvents(deletedBy deletion: Broadcast) {
            guard let id = deletion.deletedMessage,
                let index = entries.lastIndex(where: { $0.roomID == deletion.roomID && $0.entry.sentMessage == id })
            else { return }
            bytes -= entries[index].entry.emissionsJSON.bytes.count
            entries[index] = Broadcast(entries[index].entry.withoutEmissions, of: deletion.position.stream)
            bytes += entries[index].entry.emissionsJSON.bytes.count
        }

        mutating func append(_ broadcast: Broadcast) {
            for id in broadcast.participants { byPerson[id, default: []].append(entries.count) }
            for item in broadcast.items {
                guard case .person(let id) = item.emission.audience, byPerson[id]?.last != entries.count else {
                    continue
                }
                byPerson[id, default: []].append(entries.count)
            }
            entries.append(broadcast)
            bytes += broadcast.entry.emissionsJSON.bytes.count
        }
    }

    private struct Stream {
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

    private var streams: [String: Stream] = [:]
    private let generationSize: Int

    init(generationSize: Int = ReplayBuffer.generationSize) { self.generationSize = generationSize }

    /// Starts a stream, or continues it after a gap.
    mutating func start(_ stream: String, after position: LogPosition) { streams[stream] = Stream(start: position) }

    mutating func end(_ stream: String) { streams[stream] = nil }

    mutating func append(_ broadcast: Broadcast) {
        let position = broadcast.position
        guard var stream = streams.removeValue(forKey: position.stream) else { return }
        defer { streams[position.stream] = stream }
        guard position.seq == stream.seq &+ 1 else {
            // The entries in between were pruned before they could be fetched.
            stream = Stream(start: broadcast.logPosition(in: stream.start.databaseID))
            return
        }
        if stream.young.entries.count >= generationSize || stream.young.bytes >= Self.generationBytes {
            if let last = stream.old.entries.last {
                stream.start = last.logPosition(in: stream.start.databaseID)
            }
            stream.old = stream.young
            stream.young = Generation()
        }
        stream.young.removeEvents(deletedBy: broadcast)
        stream.old.removeEvents(deletedBy: broadcast)
        stream.young.append(broadcast)
    }

    /// The position up to which each stream was fanned out.
    var positions: [String: LogPosition] { streams.mapValues(Self.position) }

    func position(of stream: String) -> LogPosition? { streams[stream].map(Self.position) }

    /// Adds the entries of a stream before the position from which it is followed: as many of the newest as
    /// fit into one generation.
    ///
    /// - Parameters:
    ///   - entries: all of the stream's entries after `start`, in order, up to `end`.
    ///   - end: the position from which the stream is followed. If it has changed meanwhile, the entries are not
    ///     used.
    mutating func backfill(_ stream: String, _ entries: [Broadcast], from start: LogPosition, to end: LogPosition) {
        guard var known = streams[stream], known.start == end, known.old.entries.isEmpty,
            entries.last?.position.seq == end.seq, entries.count == end.seq - start.seq
        else { return }
        known.start = start
        for entry in entries { known.old.append(entry) }
        // They may have been read before these deletions.
        for deletion in known.young.entries { known.old.removeEvents(deletedBy: deletion) }
        streams[stream] = known
    }

    private static func position(_ stream: Stream) -> LogPosition {
        stream.newest?.logPosition(in: stream.start.databaseID) ?? stream.start
    }

    /// Returns a person's entries of a stream after a position.
    func entries(of name: String, since position: LogPosition, for userID: String) -> Lookup {
        guard let stream = streams[name], stream.start.databaseID == position.databaseID, position.seq <= stream.seq
        else {
            return .unknown
        }
        guard position.seq >= stream.start.seq else { return .older }
        let digest =
            position.seq == stream.start.seq ? stream.start.digest : stream.entry(at: position.seq)?.entry.digest
        guard digest == position.digest else { return .unknown }
        var found: [Broadcast] = []
        for generation in [stream.old, stream.young] {
            for index in generation.byPerson[userID] ?? [] where generation.entries[index].position.seq > position.seq {
                found.append(generation.entries[index])
            }
        }
        return .found(found)
    }
}
