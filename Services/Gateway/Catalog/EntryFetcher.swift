import Contracts
import EventLog
import MessageBus
import Reactor
import ServiceKit

/// Asks services for what is no longer, or not yet, in a gateway's memory.
package struct EntryFetcher: Sendable {
    private let bus: any MessageBus
    package let client: LogClient

    package init(bus: any MessageBus, log: Logger) {
        self.bus = bus
        client = LogClient(bus, requestID: "sync", owner: "A part of this service", log: log)
    }

    /// A person's rooms. Asked for after it is known up to where entries are wanted: a room that they speak of exists then.
    package func rooms(of caller: Caller, by deadline: LoopInstant) async throws(ServiceError) -> [String] {
        let context = BusContext(
            requestID: "sync", caller: caller.json, timeout: deadline - .now(), key: caller.id, isQuestion: true)
        return try await bus.askForAll(Subject.roomIDs, context, of: "Rooms") { _ in }.compactMap(\.string)
    }

    /// The end of each of these logs, without those whose owner does not reply.
    package func heads(of streams: [String], by deadline: LoopInstant) async -> [String: LogPosition] {
        await client.heads(of: streams, within: deadline - .now())
    }

    /// Entries of these rooms after a place.
    ///
    /// - Returns: some, and up to where they are all there are; nil if the log does not know that place any more.
    package func entries(
        of stream: String, since position: LogPosition, through end: Int, ofRooms roomIDs: [String],
        by deadline: LoopInstant
    ) async throws(ServiceError) -> (entries: [LogEntry], through: Int)? {
        // Nothing of nobody's rooms; and more rooms than one question can name are many questions, each to the end.
        var entries: [LogEntry] = []
        var through = end
        var first = 0
        repeat {
            let rooms = roomIDs[first..<min(first + Self.maxRooms, roomIDs.count)]
            first += Self.maxRooms
            let query = LogQuery(after: position, through: end, roomIDs: rooms)
            let page = try await client.page(of: stream, query, within: deadline - .now())
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

    /// The newest entries up to a place, whatever their rooms.
    ///
    /// - Parameters:
    ///   - maxCount: of entries.
    ///   - maxBytes: of their emissions; where there are more, those after them.
    /// - Returns: the place before them, and the entries; nil if there are none, or it is no hurry: the owner is asked again
    ///   for what somebody needs.
    package func newest(
        of stream: String, to end: LogPosition, maxCount: Int, maxBytes: Int
    ) async -> (start: LogPosition, entries: [LogEntry])? {
        // One more than is kept: where the others begin.
        var since = max(0, end.seq - maxCount - 1)
        var start = since == 0 ? LogPosition(databaseID: end.databaseID, seq: 0, digest: 0) : nil
        var entries: [LogEntry] = []
        var bytes = 0
        while since < end.seq {
            guard let page = try? await client.page(of: stream, LogQuery(since: since, through: end.seq)),
                page.head.databaseID == end.databaseID,
                let last = page.entries.last?.seq
            else { return nil }
            for entry in page.entries {
                bytes += entry.emissionsJSON.bytes.count
                if start == nil || entry.seq != (entries.last?.seq ?? start?.seq ?? 0) + 1
                    || bytes > maxBytes
                {
                    // The first; or behind a gap that was pruned; or all before it is more than is kept.
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

    /// Rooms in one question: half of what a log's owner takes.
    private static let maxRooms = LogQuery.maxRooms / 2
}
