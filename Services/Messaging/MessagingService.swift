import Contracts
import JSON
import MessageBus
import Security
import ServiceKit
import Storage

/// What the service offers, and what it is made of.
public struct MessagingService: Service {
    public static let name = "messaging"
    public static let migrations = MessagingSchema.migrations
    public static let peer = BusPeer.service(name, requests: ["rooms.membership", "rooms.shared"])

    private let messaging: Messaging

    public init(_ context: ServiceContext) throws {
        messaging = Messaging(
            database: context.database, bus: context.bus, memberships: context.memberships,
            clock: context.clock, ids: context.ids)
    }

    public var manifest: Manifest {
        Manifest(
            service: Self.name,
            routes: [
                Route("GET", "/api/rooms/:roomId/messages", "messaging.list"),
                Route("POST", "/api/rooms/:roomId/messages", "messaging.send", limits: ["sends"]),
                Route("DELETE", "/api/rooms/:roomId/messages/:messageId", "messaging.delete"),
                Route("POST", "/api/rooms/:roomId/messages/read", "messaging.read"),
                Route("GET", "/api/users/:userId/messages", "messaging.conversation", isHeavy: true),
            ],
            socketEvents: [
                SocketEvent(
                    "message:send", "messaging.send", ackName: "message",
                    ackCopies: [("messageId", "id"), ("seq", "seq"), ("createdAt", "createdAt")], limits: ["sends"]),
                SocketEvent("message:delete", "messaging.delete"),
                SocketEvent("messages:mark-read", "messaging.read"),
            ],
            contribution: Contribution(
                subject: "messaging.contribute",
                fields: [
                    Contribution.Field("messagesUpdatedAt", .time, zero: .null),
                    Contribution.Field("lastMessage", zero: .null),
                    Contribution.Field("badges.messages", zero: JSONValue(0)),
                ]),
            hasEventLog: true,
            logsWhatRoomsShow: true,
            limits: [RateLimit("sends", perPerson: 60, perAddress: 600, seconds: 10)])
    }

    public func register(in requests: inout RequestTable) {
        let messaging = messaging
        requests.onRoom("messaging.send") { try await messaging.send($0) }
        requests.onRoom("messaging.delete") { try await messaging.delete($0) }
        requests.onRoom("messaging.read") { try await messaging.markRead($0) }
        requests.onRoom("messaging.list") { try await messaging.list($0) }
        requests.on("messaging.conversation") { try await messaging.conversation($0) }
        requests.onRead("messaging.answered") { try Messaging.findAnswer($0, on: $1) }
        requests.onRead("messaging.unread") { try Messaging.tellUnread($0, on: $1) }
        requests.onRead("messaging.contribute") { try Messaging.contribute($0, on: $1) }
    }
}

/// The state that the use cases share; those with rules have a file of their own.
struct Messaging: Sendable {
    let database: any Database
    let bus: any MessageBus
    let memberships: Memberships
    let clock: any WallClock
    let ids: UUIDv7Generator

    /// Messages in a page when the caller doesn't say, and at most.
    static let standardPage = 50
    static let maxPage = 200

    static func position(_ seq: Int) -> StreamPosition { StreamPosition(stream: MessagingService.name, seq: seq) }
}
