import ParlorContracts
import ParlorMessageBus
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage

/// The service's declaration, and its wiring.
public struct MessagingService: Service {
    public static let name = "messaging"
    public static let migrations = MessagingSchema.migrations
    public static let peer = BusPeer.service(
        name, requests: [Subject.membership, Subject.sharedRooms], subscribes: [Subject.instances(of: name)])
    public static let log: LogContents = [.clientEvents, .roomChanges]
    public static let mayHaveSeveralLogs = true
    public static let limits = RateLimit.ofMessaging
    public static let events = EventDescription.ofMessages

    private let messaging: Messaging
    private let cleaner: RoomCleaner

    public init(_ context: ServiceContext) throws {
        cleaner = RoomCleaner(database: context.database, log: context.log)
        messaging = Messaging(
            database: context.database, bus: context.bus, memberships: context.memberships,
            clock: context.clock, ids: context.ids)
    }

    public func register(in requests: inout RequestTable) {
        let messaging = messaging
        requests.onRoom(.list) { try await messaging.list($0) }
        requests.onRoom(.send) { try await messaging.send($0) }
        requests.onRoom(.delete) { try await messaging.delete($0) }
        requests.onRoom(.read) { try await messaging.markRead($0) }
        requests.on(.conversation) { try await messaging.conversation($0) }
        requests.onRead(.answered) { try Messaging.findAnswer($0, on: $1) }
        requests.onRead(.unread) { try Messaging.unread($0, on: $1) }
        requests.onRead(.existing) { try Messaging.existing($0, on: $1) }
        requests.onSnapshot(.snapshot, of: messaging.database) { try Messaging.snapshot(after: $0, limit: $1, on: $2) }
        requests.onContribution(Messaging.contribution) { try ChatsStore($2).summaries(of: $0, for: $1) }
        requests.onPeopleChange { try MembersStore($1).follow($0) }
    }

    public func start(on loop: EventLoop) throws { cleaner.start() }

    public func stop() async { await cleaner.stop() }
}

extension Endpoint {
    fileprivate static let list = Endpoint("messaging.list")
        .route("GET", "/api/rooms/:roomId/messages", shows: .messages)
        .described(.listMessages)
    fileprivate static let send = Endpoint("messaging.send")
        .route("POST", "/api/rooms/:roomId/messages", limits: ["sends"])
        .socketEvent(
            "message:send", ackName: "message",
            ackCopies: [("messageId", "id"), ("seq", "seq"), ("createdAt", "createdAt")], limits: ["sends"]
        )
        .described(.sendMessage)
    fileprivate static let delete = Endpoint("messaging.delete")
        .route("DELETE", "/api/rooms/:roomId/messages/:messageId")
        .socketEvent("message:delete")
        .described(.deleteMessage)
    fileprivate static let read = Endpoint("messaging.read")
        .route("POST", "/api/rooms/:roomId/messages/read")
        .socketEvent("messages:mark-read")
        .described(.markRead)
    fileprivate static let conversation = Endpoint("messaging.conversation")
        .route("GET", "/api/users/:userId/messages", shows: .messages, isHeavy: true)
        .described(.conversation)

    // For other services.
    fileprivate static let answered = Endpoint(Subject.answered)
    fileprivate static let unread = Endpoint(Subject.unread)
    fileprivate static let existing = Endpoint(Subject.existingMessages)
    fileprivate static let snapshot = Endpoint(Subject.snapshot(of: MessagingService.logID))
}

/// The state that the use cases share. Each use case of clients has a file; `ServiceQueries.swift` answers other
/// services.
struct Messaging: Sendable {
    let database: any Database
    let bus: any MessageBus
    let memberships: Memberships
    let clock: any WallClock
    let ids: UUIDv7Generator
}
