import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorSocketIO

/// A log entry prepared for all loops, with each emission framed once. A class, as all loops and their replay
/// buffers share it.
package final class Broadcast: Sendable {
    package struct Item: Sendable {
        package let emission: Emission
        /// The framed event; nil if it is composed for each person before it is framed.
        let packet: OutgoingPacket?
    }

    let position: EntryPosition
    let entry: LogEntry
    let items: [Item]
    /// The message that this entry deletes; nil for nearly all entries.
    let deletedMessageID: String?

    var roomID: String { entry.roomID }
    var participants: [String] { entry.participants }

    /// - Parameter sending: returns the events of the entry that are sent.
    init(_ entry: LogEntry, of logID: LogID, sending: Emitters.Filter = \.emissions) {
        position = EntryPosition(log: logID, seq: entry.seq)
        self.entry = entry
        items = sending(entry).map { emission in
            Item(
                emission: emission,
                packet: emission.composition == nil ? .event(emission.event, [emission.data]) : nil)
        }
        deletedMessageID = entry.fact?.deletedMessageID
    }

    func logPosition(in databaseID: String) -> LogPosition { LogPosition(after: entry, in: databaseID) }

    /// The person whose typing ends, because this entry is the message that they typed.
    var endsTypingOf: String? { items.lazy.compactMap(\.emission.endsTypingOf).first }
}

/// The sockets that receive `:global` events.
package enum GlobalScope: String, Sendable, CaseIterable {
    case everyone, participants
}
