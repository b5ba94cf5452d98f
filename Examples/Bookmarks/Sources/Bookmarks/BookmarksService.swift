import ParlorContracts
import ParlorReactor
import ParlorServiceKit
import ParlorStorage

/// What a person has bookmarked in their rooms, for that person only.
public struct BookmarksService: Service {
    public static let name = "bookmarks"
    public static let migrations = BookmarksSchema.migrations + [LogPositionsStore.migration(version: 2)]
    public static let peer = BusPeer.service(
        name, requests: [Subject.membership, Subject.existingMessages], follows: [.messaging])
    /// Each change of `bookmarkCount` has an entry, so gateways may cache it.
    public static let log: LogContents = [.clientEvents, .roomChanges]
    public static let events = EventDescription.ofBookmarks

    private let bookmarks: Bookmarks
    let follower: DurableFollower<Bookmarks>

    public init(_ context: ServiceContext) {
        bookmarks = Bookmarks(
            database: context.database, bus: context.bus, ids: context.ids, clock: context.clock)
        follower = DurableFollower(.messaging, for: Self.self, context, bookmarks)
    }

    public func register(in requests: inout RequestTable) {
        let bookmarks = bookmarks
        requests.onRoom(.list) { try await bookmarks.list($0) }
        requests.onRoom(.add) { try await bookmarks.add($0) }
        requests.onRoom(.remove) { try await bookmarks.remove($0) }
        requests.onPeopleChange { try BookmarksStore($1).follow($0) }
        requests.onContribution(Bookmarks.contribution) { try BookmarksStore($2).counts(in: $0, of: $1) }
    }

    public func start(on loop: EventLoop) throws { try follower.start() }
    public func stop() async { await follower.stop() }
}

extension Endpoint {
    private static let bookmark = "/api/rooms/:roomId/messages/:messageId/bookmark"

    fileprivate static let list = Endpoint("bookmarks.list")
        .route("GET", "/api/rooms/:roomId/bookmarks")
        .described(.listBookmarks)
    fileprivate static let add = Endpoint("bookmarks.add").route("PUT", bookmark).described(.addBookmark)
    fileprivate static let remove = Endpoint("bookmarks.remove").route("DELETE", bookmark).described(.removeBookmark)
}
