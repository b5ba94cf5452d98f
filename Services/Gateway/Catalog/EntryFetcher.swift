import ParlorContracts
import ParlorEventLog
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit

/// Requests data that is not in this gateway's memory, from the services that own it.
package struct EntryFetcher: Sendable {
    private let bus: any MessageBus
    package let client: LogClient
    package let emitters: Emitters

    package init(bus: any MessageBus, faults: ReplyFaults? = nil, emitters: Emitters = Emitters(log: .silent)) {
        self.bus = bus
        self.emitters = emitters
        client = LogClient(bus, requestID: "sync", owner: "A part of this service", faults: faults)
    }

    /// Returns the ids of a person's rooms, and `""` for the entries without a room. Call it after the positions of the
    /// wanted entries are known. By then the rooms of all those entries exist, so none is missing here.
    package func rooms(of caller: Caller, by deadline: LoopInstant) async throws(ServiceError) -> [String] {
        let context = BusContext(
            requestID: "sync", caller: caller.json, timeout: deadline - .now(), key: caller.id, isRepeatable: true)
        return try await bus.askForAll(Subject.roomIDs, context, of: "Rooms") { _ in }.compactMap(\.string) + [""]
    }

    /// Returns the head of each of these logs, without those whose owner does not reply.
    package func heads(of logs: [LogID], by deadline: LoopInstant) async -> [LogID: LogPosition] {
        await client.heads(of: logs, within: deadline - .now())
    }

    /// Returns entries of these rooms after a position.
    ///
    /// - Parameter caller: the person who missed them. The log's owner may leave out entries without a room if they
    ///   have no event for this person.
    /// - Returns: some of the entries, and the position up to which they are complete; nil if the log no
    ///   longer contains the given position.
    package func entries(
        of logID: LogID, since position: LogPosition, through end: Int, ofRooms roomIDs: [String], for caller: Caller,
        by deadline: LoopInstant
    ) async throws(ServiceError) -> (entries: [LogEntry], through: Int)? {
        // More rooms than one request can name take several requests, each up to the end.
        var entries: [LogEntry] = []
        var through = end
        var first = 0
        repeat {
            let rooms = roomIDs[first..<min(first + Self.maxRooms, roomIDs.count)]
            first += Self.maxRooms
            let query = LogQuery(after: position, through: end, roomIDs: rooms)
            let context = BusContext(
                requestID: "sync", caller: caller.json, timeout: deadline - .now(), isRepeatable: true)
            let page = try await client.page(of: logID, query, context)
            guard page.isKnown, page.head.databaseID == position.databaseID else { return nil }
            entries += page.entries
            through = min(through, page.through)
        } while first < roomIDs.count
        guard through >= end || !entries.isEmpty else { return nil }
        if roomIDs.count > Self.maxRooms {
            entries = entries.filter { $0.seq <= through }.sorted { $0.seq < $1.seq }
        }
        return (entries, through)
    }

    /// Returns the newest entries up to a position, for all rooms.
    ///
    /// - Parameters:
    ///   - maxCount: the limit of entries.
    ///   - maxBytes: the limit of their emissions' bytes; beyond it, earlier entries are left out.
    /// - Returns: the position before them, and the entries; nil if there are none or a request fails. A failed request
    ///   is not retried, as the owner is asked again when a client needs entries.
    package func newest(
        of logID: LogID, to end: LogPosition, maxCount: Int, maxBytes: Int
    ) async -> (start: LogPosition, entries: [LogEntry])? {
        // Request one entry more than is kept: its position is the one before the others.
        var since = max(0, end.seq - maxCount - 1)
        var start = since == 0 ? LogPosition(databaseID: end.databaseID, seq: 0, digest: 0) : nil
        var entries: [LogEntry] = []
        var bytes = 0
        while since < end.seq {
            guard let page = try? await client.page(of: logID, LogQuery(since: since, through: end.seq)),
                page.head.databaseID == end.databaseID,
                let last = page.entries.last?.seq
            else { return nil }
            for entry in page.entries {
                // A service may reply anything.
                guard entry.seq > since, entry.seq <= end.seq else { return nil }
                bytes += entry.emissionsJSON.bytes.count
                if start == nil || entry.seq != (entries.last?.seq ?? start?.seq ?? 0) &+ 1
                    || bytes > maxBytes
                {
                    // This is the first entry, or the first after pruned ones, or the entries so far are over the
                    // limit. Start again after it.
                    start = LogPosition(after: entry, in: end.databaseID)
                    entries = []
                    bytes = 0
                } else {
                    entries.append(entry)
                }
            }
            since = last
        }
        guard let start, let last = entries.last, LogPosition(after: last, in: end.databaseID) == end else {
            return nil
        }
        return (start, entries)
    }

    /// The limit of rooms in one request: half of what a log's owner accepts.
    private static let maxRooms = LogQuery.maxRooms / 2
}
