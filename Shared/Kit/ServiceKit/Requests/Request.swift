import Contracts
import EventLog
import MessageBus
import Storage

/// A request as a handler gets it. A class, as it goes from closure to closure until it is answered.
public final class Request: Sendable {
    public let fields: RequestFields
    private let verified: Caller?
    private let context: BusContext
    /// When nobody waits for the answer any more.
    public let deadline: ContinuousClock.Instant

    convenience init(_ request: BusRequest) throws(ServiceError) {
        try self.init(RequestBatch.Question(data: request.data, context: request.context), deadline: request.deadline)
    }

    init(_ question: RequestBatch.Question, deadline: ContinuousClock.Instant) throws(ServiceError) {
        fields = try RequestFields(question.data)
        context = question.context
        self.deadline = deadline
        verified = context.caller.flatMap(Caller.init)
    }

    /// From the edge to the last service, for logs.
    public var id: String { context.requestID }

    /// - Throws: `unauthenticated` for a request that nobody is behind.
    public var caller: Caller {
        get throws(ServiceError) {
            guard let verified else { throw ServiceError(.unauthenticated, "Log in first.") }
            return verified
        }
    }

    /// For a question to another service on this one's behalf: the same person, request id and trace, and no more time
    /// than is left.
    public func onward(key: String? = nil) -> BusContext {
        var context = context
        context.key = key
        context.isQuestion = true
        context.timeout = ContinuousClock.now.duration(to: deadline)
        return context
    }
}

/// A request in a room that its caller is in.
public struct RoomRequest: Sendable {
    public let request: Request
    public let room: Membership
    public let caller: Participant

    public var id: String { request.id }
    public var fields: RequestFields { request.fields }

    /// Emits events about a change in the room: appends them to the service's event log, in the change's own transaction.
    ///
    /// - Parameter fact: what happened, if another service needs to know.
    /// - Returns: the entry's position in the log.
    public func emit(
        _ emissions: consuming [Emission], fact: Fact? = nil, at time: Timestamp, on connection: any Connection
    ) throws -> Int {
        try EventLog.append(
            at: time, roomID: room.roomID, participants: room.userIDs, emissions: emissions, fact: fact, requestID: id,
            on: connection)
    }
}

/// Which subjects a service answers, and how.
public struct RequestTable: Sendable {
    public typealias Handler = @Sendable (Request) async throws -> Reply
    public typealias RoomHandler = @Sendable (RoomRequest) async throws -> Reply
    public typealias ReadHandler = @Sendable (Request, any Connection) throws -> Reply

    enum Entry: Sendable {
        case anywhere(Handler)
        case inRoom(RoomHandler)
        case reading(ReadHandler)
        case logPage(EventLog)
    }

    var entries: [(subject: String, entry: Entry)] = []

    /// Requests that one sender sends one after the other start in that order, and what they do before their first
    /// suspension happens in it.
    public mutating func on(_ subject: String, _ handler: @escaping Handler) {
        entries.append((subject, .anywhere(handler)))
    }

    /// For what a look at the database answers. Questions that come together are answered over one snapshot; the service's
    /// manifest says that it takes them so (`Manifest.batched`).
    public mutating func onRead(_ subject: String, _ handler: @escaping ReadHandler) {
        entries.append((subject, .reading(handler)))
    }

    /// The subjects of `onRead`.
    var batched: [String] {
        entries.compactMap { if case .reading = $0.entry { $0.subject } else { nil } }
    }

    /// For requests with a `roomId`: the handler is called once it is known who is in that room, and only for a caller who
    /// is. One sender's requests in a room start in the order they were sent, so that a write queued before the handler's
    /// first suspension is queued in that order.
    public mutating func onRoom(_ subject: String, _ handler: @escaping RoomHandler) {
        entries.append((subject, .inRoom(handler)))
    }
}
