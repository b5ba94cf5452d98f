import Foundation

/// The caller's rooms, and the position in the logs at which they were read.
package struct SyncSnapshot: Decodable, Equatable, Sendable {
    /// The position, from which ``RoomsAPI/missed(since:limit:)`` continues.
    package var cursor: String
    package var rooms: [Room]
}

/// The events since a cursor.
package enum MissedEvents: Equatable, Sendable {
    /// The events in order, each once. If `hasMore` is true, call again with this cursor.
    case recovered([RoomEvent], cursor: String, hasMore: Bool)
    /// The server cannot replay from this cursor, for example because it is too old. Everything shown has to be
    /// fetched again.
    case lost
}

extension RoomsAPI {
    /// Returns the caller's rooms with a cursor, for a client that has none yet.
    package func syncSnapshot() async throws -> SyncSnapshot {
        try await value(of: try HTTPRequest("GET", to: ["sync"]))
    }

    /// Returns the events that were sent to the caller, or to the caller's rooms, since a cursor. `:global` events,
    /// presence and typing are not among them.
    ///
    /// - Parameter limit: the maximum number of events, at most 1,000.
    /// - Throws: `ClientFailure`: `refused` with `invalid_field` for a cursor that is not the caller's.
    package func missed(since cursor: String, limit: Int? = nil) async throws -> MissedEvents {
        let request = try HTTPRequest(
            "GET", to: ["sync"], query: [("since", cursor), ("limit", limit.map { String($0) })])
        let answer: SyncAnswer = try await value(of: request)
        return answer.missed
    }
}

private struct SyncAnswer: Decodable {
    let missed: MissedEvents

    private enum Member: CodingKey {
        case recovered, events, cursor, more
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        guard try members.decode(Bool.self, forKey: .recovered) else {
            missed = .lost
            return
        }
        missed = .recovered(
            try members.decode([MissedEvent].self, forKey: .events).map(\.event),
            cursor: try members.decode(String.self, forKey: .cursor),
            hasMore: try members.decode(.more, or: false))
    }
}

private struct MissedEvent: Decodable {
    let event: RoomEvent

    private enum Member: CodingKey {
        case event, data
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        let name = try members.decode(String.self, forKey: .event)
        do {
            event = try members.decode(DecodedEvent.self, forKey: .data, configuration: name).event
        } catch {
            // As on the socket, an event that cannot be decoded must not discard the others. If the data has a number
            // that Foundation cannot decode, the event gets `null` as its data.
            event = .unknown(name: name, data: (try? members.decode(JSON.self, forKey: .data)) ?? .null)
        }
    }
}
