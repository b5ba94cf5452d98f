import Contracts
import EventLog
import SocketIO

/// A log entry made ready for every loop: each emission framed once. A class, as all loops and what they keep for those who come back
/// share it.
final class Broadcast: Sendable {
    struct Item: Sendable {
        let emission: Emission
        /// nil for what is composed for each person before it is framed.
        let packet: OutgoingPacket?
    }

    let position: StreamPosition
    let entry: LogEntry
    let items: [Item]

    var roomID: String { entry.roomID }
    var participants: [String] { entry.participants }
    /// Computed anew each time: worth asking for the last of several alone.
    var digest: Int { entry.digest }

    init(_ entry: LogEntry, of stream: String) {
        position = StreamPosition(stream: stream, seq: entry.seq)
        self.entry = entry
        items = entry.emissions.map { emission in
            Item(
                emission: emission,
                packet: emission.composition == nil ? .event(emission.event, [emission.data]) : nil)
        }
    }

    /// The place after it.
    func place(in databaseID: String) -> LogPosition {
        LogPosition(databaseID: databaseID, seq: position.seq, digest: digest)
    }

    /// The person who has sent what they were typing, if this entry says so.
    var endsTypingOf: String? { items.lazy.compactMap(\.emission.endsTypingOf).first }
}

/// Whom `:global` events reach.
enum GlobalScope: String, Sendable, CaseIterable {
    case everyone, participants
}
