import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorStorage
import Synchronization

/// A request as its handler receives it. A class, as it is passed from closure to closure until it is
/// answered.
public final class Request: Sendable {
    public let fields: RequestFields
    private let verified: Caller?
    private let context: BusContext
    /// The time after which the sender no longer waits for the reply.
    public let deadline: ContinuousClock.Instant
    /// True while the body of `RoomRequest.write` runs.
    fileprivate let isFenceChecked = Atomic(false)

    init(_ data: JSONValue, _ context: BusContext, deadline: ContinuousClock.Instant) throws(ServiceError) {
        fields = try RequestFields(data)
        self.context = context
        self.deadline = deadline
        verified = context.caller.flatMap(Caller.init)
    }

    /// The request's id, from the edge to the last service, for logs.
    public var id: String { context.requestID }

    /// - Throws: `unauthenticated` for a request without a caller.
    public var caller: Caller {
        get throws(ServiceError) {
            guard let verified else { throw ServiceError(.unauthenticated, "Log in first.") }
            return verified
        }
    }

    /// Returns the context for a request to another service on behalf of this one: with the same caller, request
    /// id and trace, and the time that is left. That request must only read, as it may be sent twice
    /// (`BusContext.isRepeatable`).
    public func onward(key: String? = nil) -> BusContext {
        var context = context
        context.key = key
        context.isRepeatable = true
        context.timeout = ContinuousClock.now.duration(to: deadline)
        return context
    }
}

/// A request in a room that its caller is in.
public struct RoomRequest: Sendable {
    public let request: Request
    public let room: Membership
    public let caller: Participant
    /// The log of the room's changes.
    public let logID: LogID
    let database: any Database
    let fence: RoomFence

    public var id: String { request.id }
    public var fields: RequestFields { request.fields }

    /// Returns the context for a request to another service on behalf of this one, as `Request.onward` does.
    public func onward(key: String? = nil) -> BusContext { request.onward(key: key) }

    /// Reads in the room, as its people are allowed to. The body runs only if the record is not older than the room's fence.
    /// Otherwise the whole handler is called again, with a newer record.
    ///
    /// - Throws: the errors of `Database.read`.
    public func read<T: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> T) async throws -> T {
        let (result, fence) = try await database.read { [fence] connection -> (T?, Int) in
            let lowest = try fence(room.roomID, connection)
            return (room.version < lowest ? nil : try body(connection), lowest)
        }
        guard let result else { throw StaleMembership(fence: fence) }
        return result
    }

    /// Writes in the room, in a transaction of the room's log. The body runs only if the record is not older than the room's
    /// fence. Otherwise the whole handler is called again, with a newer record. So what a handler does before, such as an
    /// earlier write, must bear repetition.
    ///
    /// - Parameters: those of `Database.write`.
    /// - Throws: the errors of `Database.write`.
    @discardableResult
    public func write<T: Sendable>(
        holding bytes: Int = 1024, wanting key: WantedKey? = nil,
        _ body: @escaping @Sendable (any Connection) throws -> T
    ) async throws -> T {
        let (result, fence) = try await database.write(
            holding: bytes, in: logID.number, wanting: key
        ) { [fence] connection -> (T?, Int) in
            let lowest = try fence(room.roomID, connection)
            guard room.version >= lowest else { return (nil, lowest) }
            request.isFenceChecked.store(true, ordering: .relaxed)
            defer { request.isFenceChecked.store(false, ordering: .relaxed) }
            return (try body(connection), lowest)
        }
        guard let result else { throw StaleMembership(fence: fence) }
        return result
    }

    /// Emits events about a change in the room: appends them to the room's event log, in the body of `write`.
    ///
    /// - Parameters:
    ///   - userIDs: the people whom the change concerns; nil for all of the room's.
    ///   - fact: the fact, if another service needs one.
    /// - Returns: the entry's position, for the reply.
    public func emit(
        _ emissions: consuming [Emission], concerning userIDs: [String]? = nil, fact: Fact? = nil, at time: Timestamp,
        on connection: any Connection
    ) throws -> EntryPosition {
        precondition(request.isFenceChecked.load(ordering: .relaxed), "an entry of a room outside of RoomRequest.write")
        let seq = try EventLog.append(
            at: time, roomID: room.roomID, participants: userIDs ?? room.userIDs, emissions: emissions, fact: fact,
            requestID: id, on: connection)
        return EntryPosition(log: logID, seq: seq)
    }
}
