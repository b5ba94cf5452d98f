import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorSocketIO
import Synchronization

/// A log entry for all loops. A class, as the loops and their replay buffers share it.
///
/// Its events are decoded and framed once, when a loop first has somebody for them. Most entries of a large system concern
/// nobody on this gateway.
package final class Broadcast: Sendable {
    package struct Item: Sendable {
        package let emission: Emission
        /// The framed event; nil if it is composed for each person before it is framed.
        let packet: OutgoingPacket?
    }

    let position: EntryPosition
    let entry: LogEntry
    /// The message that this entry deletes; nil for nearly all entries.
    let deletedMessageID: String?
    private let decoded: Mutex<Decoded>

    private struct Decoded {
        /// Returns the events that are sent; nil once they are decoded.
        var sending: Emitters.Filter?
        /// Nil until they are needed.
        var items: [Item]?
        /// Nil until they are needed.
        var named: [String]?
    }

    var roomID: String { entry.roomID }
    var participants: [String] { entry.participants }

    /// - Parameter sending: returns the events of the entry that are sent.
    init(_ entry: LogEntry, of logID: LogID, sending: @escaping Emitters.Filter = { $0.emissions }) {
        position = EntryPosition(log: logID, seq: entry.seq)
        self.entry = entry
        decoded = Mutex(Decoded(sending: sending))
        deletedMessageID = entry.fact?.deletedMessageID
    }

    /// The events that are sent.
    var items: [Item] {
        let (sending, known) = decoded.withLock { ($0.sending, $0.items) }
        if let known { return known }
        // Not under the lock: it may take long, and log. If two loops do it at once, the first result counts.
        let items = (sending?(entry) ?? []).map { emission in
            Item(
                emission: emission,
                packet: emission.composition == nil ? .event(emission.event, [emission.data]) : nil)
        }
        return decoded.withLock { decoded in
            if let first = decoded.items { return first }
            (decoded.items, decoded.sending) = (items, nil)
            return items
        }
    }

    /// The people to whom events go; maybe also some to whom a service may not send.
    var namedPeople: [String] {
        decoded.withLock { decoded in
            if let named = decoded.named { return named }
            let named = decoded.items?.compactMap(\.emission.person) ?? entry.namedPeople
            decoded.named = named
            return named
        }
    }

    /// The participants of an entry, for several look-ups.
    struct People {
        /// The number of people, and of look-ups, up to which a list is searched faster than a set is made.
        private static let few = 8

        private let list: [String]
        private let set: Set<String>

        fileprivate init(_ list: [String], lookUps: Int) {
            self.list = list
            set = list.count > Self.few && lookUps > Self.few ? Set(list) : []
        }

        func contains(_ userID: String) -> Bool { set.isEmpty ? list.contains(userID) : set.contains(userID) }
    }

    func people(for lookUps: Int) -> People { People(participants, lookUps: lookUps) }

    /// The person whose typing ends, because this entry is the message that they typed.
    var endsTypingOf: String? { items.lazy.compactMap(\.emission.endsTypingOf).first }

    func logPosition(in databaseID: String) -> LogPosition { LogPosition(after: entry, in: databaseID) }
}

extension Emission {
    /// The person to whom it goes; nil for any other audience.
    var person: String? {
        if case .person(let id) = audience { id } else { nil }
    }
}

/// The sockets that receive `:global` events.
package enum GlobalScope: String, Sendable, CaseIterable {
    case everyone, participants
}
