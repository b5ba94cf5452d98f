import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit

/// Asks services for what is no longer, or not yet, in a gateway's memory.
package struct MissedEntries: Sendable {
    private let bus: any MessageBus
    private let log: Logger

    package init(bus: any MessageBus, log: Logger) {
        self.bus = bus
        self.log = log
    }

    /// A person's rooms. Asked for after it is known up to where entries are wanted: a room that they speak of exists then.
    package func rooms(of caller: Caller, by deadline: LoopInstant) async throws(ServiceError) -> [String] {
        let context = BusContext(
            requestID: "sync", caller: caller.json, timeout: deadline - .now(), key: caller.id, isQuestion: true)
        return try await bus.askForAll(Subject.roomIDs, context, of: "Rooms") { _ in }.compactMap(\.string)
    }

    /// Where each of these logs ends, as their owners say: nothing that was answered before stands after it. Those whose
    /// owner is away are not in it.
    package func heads(of streams: [String], by deadline: LoopInstant) async -> [String: Bookmark] {
        await withTaskGroup(of: Head.self) { group in
            for stream in streams { group.addTask { await head(of: stream, by: deadline) } }
            var heads: [String: Bookmark] = [:]
            for await head in group { heads[head.stream] = head.place }
            return heads
        }
    }

    private struct Head: Sendable {
        let stream: String
        let place: Bookmark?
    }

    /// Apart, as one value: Swift 6.3 miscompiles a task of a group that returns a tuple out of a typed `do`, optimised.
    private func head(of stream: String, by deadline: LoopInstant) async -> Head {
        let question = JSONWriter.object { $0.member("limit", 0) }
        do throws(ServiceError) {
            let page = try await page(of: stream, question, by: deadline)
            return Head(stream: stream, place: page.head)
        } catch {
            return Head(stream: stream, place: nil)
        }
    }

    /// Entries of these rooms after a place.
    ///
    /// - Returns: some, and up to where they are all there are; nil if the log does not know that place any more.
    package func entries(
        of stream: String, since place: Bookmark, through end: Int, ofRooms roomIDs: [String], by deadline: LoopInstant
    ) async throws(ServiceError) -> (entries: [StreamEntry], through: Int)? {
        // Nothing of nobody's rooms; and more rooms than one question can name are many questions, each to the end.
        var entries: [StreamEntry] = []
        var through = end
        var first = 0
        repeat {
            let rooms = roomIDs[first..<min(first + Self.maxRooms, roomIDs.count)]
            first += Self.maxRooms
            let question = JSONWriter.object(reservingCapacity: rooms.count * 40 + 128) {
                $0.member("since", place.seq)
                $0.member("digest", place.digest)
                $0.member("through", end)
                $0.member("roomIds", array: { for id in rooms { $0.string(id) } })
            }
            let page = try await page(of: stream, question, by: deadline)
            guard page.isKnown, page.head.databaseID == place.databaseID else { return nil }
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
        of stream: String, to end: Bookmark, maxCount: Int, maxBytes: Int
    ) async -> (start: Bookmark, entries: [StreamEntry])? {
        // One more than is kept: where the others begin.
        var since = max(0, end.seq - maxCount - 1)
        var start = since == 0 ? Bookmark(databaseID: end.databaseID, seq: 0, digest: 0) : nil
        var entries: [StreamEntry] = []
        var bytes = 0
        while since < end.seq {
            let question = JSONWriter.object {
                $0.member("since", since)
                $0.member("through", end.seq)
            }
            let patience = LoopInstant.now() + BusContext.defaultTimeout
            guard let page = try? await page(of: stream, question, by: patience),
                page.head.databaseID == end.databaseID,
                let last = page.entries.last?.seq
            else { return nil }
            for entry in page.entries {
                bytes += entry.emissionsJSON.bytes.count
                if start == nil || entry.seq != (entries.last?.seq ?? start?.seq ?? 0) + 1
                    || bytes > maxBytes
                {
                    // The first; or behind a gap that was pruned; or all before it is more than is kept.
                    start = Bookmark(after: entry, in: end.databaseID)
                    entries = []
                    bytes = 0
                } else {
                    entries.append(entry)
                }
            }
            since = last
        }
        guard let start, let last = entries.last, Bookmark(after: last, in: end.databaseID) == end else { return nil }
        return (start, entries)
    }

    /// Rooms in one question: half of what a log's owner takes.
    private static let maxRooms = 5000

    private func page(
        of stream: String, _ question: JSONValue, by deadline: LoopInstant
    ) async throws(ServiceError) -> LogPage {
        let context = BusContext(requestID: "sync", timeout: deadline - .now(), isQuestion: true)
        let reply = try await bus.ask(
            Subject.eventsSince(of: stream), question, context, of: "A part of this service", log: log)
        guard let page = LogPage(reply.data) else { throw .unavailable("A part of this service") }
        return page
    }
}
