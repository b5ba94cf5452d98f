import Contracts
import JSON
import MessageBus
import ServiceKit

/// Asks services for what is no longer, or not yet, in a gateway's memory.
struct MissedEntries: Sendable {
    let bus: any MessageBus
    let composer: RoomComposer
    let log: Logger

    /// A person's rooms. Asked for after it is known up to where entries are wanted: a room that they speak of exists then.
    func rooms(of caller: Caller) async throws(ServiceError) -> [String] {
        let context = BusContext(requestID: "sync", caller: caller.json, key: caller.id)
        return try await bus.askForAll(Subject.roomIDs, context, of: "Rooms") { _ in }.compactMap(\.string)
    }

    /// Where each of these logs ends, as their owners say: nothing that was answered before stands after it. Those whose
    /// owner is away are not in it.
    func heads(of streams: [String]) async -> [String: Bookmark] {
        await withTaskGroup(of: Head.self) { group in
            for stream in streams { group.addTask { await head(of: stream) } }
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
    private func head(of stream: String) async -> Head {
        let question = JSONWriter.object { $0.member("limit", 0) }
        do throws(ServiceError) {
            let page = try await page(of: stream, question)
            return Head(stream: stream, place: page.head)
        } catch {
            return Head(stream: stream, place: nil)
        }
    }

    /// Entries of these rooms after a place.
    ///
    /// - Returns: some, and up to where they are all there are; nil if the log does not know that place any more.
    func entries(
        of stream: String, since place: Bookmark, through end: Int, ofRooms roomIDs: [String]
    ) async throws(ServiceError) -> (entries: [Broadcast], through: Int)? {
        // Nothing of nobody's rooms; and more rooms than one question can name are many questions, each to the end.
        var entries: [Broadcast] = []
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
            let page = try await page(of: stream, question)
            guard page.isKnown, page.head.databaseID == place.databaseID else { return nil }
            entries += page.entries.map { Broadcast($0, of: stream) }
            through = min(through, page.through)
        } while first < roomIDs.count
        guard through >= end || !entries.isEmpty else { return nil }
        if roomIDs.count > Self.maxRooms {
            entries = entries.filter { $0.position.seq <= through }.sorted { $0.position.seq < $1.position.seq }
        }
        return (entries, through)
    }

    /// Rooms in one question: half of what a log's owner takes.
    private static let maxRooms = 5000

    private func page(of stream: String, _ question: JSONValue) async throws(ServiceError) -> LogPage {
        let context = BusContext(requestID: "sync")
        let reply = try await bus.ask(
            Subject.eventsSince(of: stream), question, context, of: "A part of this service", log: log)
        guard let page = LogPage(reply.data) else { throw .unavailable("A part of this service") }
        return page
    }

    // MARK: What is composed

    /// The badges that the replayed events' services do not own, of the rooms that need them, as they are now.
    func otherBadges(for events: [Replay.Event], of caller: Caller) async -> [String: RoomComposer.Badges] {
        let rooms = Set(events.lazy.filter { $0.item.emission.composition == .badges }.map(\.roomID))
        return await composer.badges(of: rooms.sorted(), for: caller.id)
    }

    /// An event's data as clients see it; nil if it cannot be made.
    func data(of event: Replay.Event, _ badges: [String: RoomComposer.Badges]) -> JSONValue? {
        let emission = event.item.emission
        switch emission.composition {
        case .badges:
            return RoomComposer.data(ofBadges: emission.data, roomID: event.roomID, badges[event.roomID] ?? [])
        case .room: return composer.newRoom(emission.data).map { room in JSONWriter.object { $0.member("room", room) } }
        case nil: return emission.data
        }
    }
}
