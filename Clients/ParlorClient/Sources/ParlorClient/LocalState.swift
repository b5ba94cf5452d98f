/// All that a client has of its person on this device: what is shown, and what waits to be stored or sent.
@MainActor
package final class LocalState {
    /// Where it is stored. Tests replace how it deletes.
    package var folder: PersonFolder
    let rooms: RoomList
    let drafts: Drafts
    /// The messages that are not sent yet.
    package let outbox: Outbox
    let outboxReading = OutboxReading()
    let backing: MessageBacking
    package let boards: OpenBoards
    package let conversations: OpenConversations
    private let roomCache: RoomListCache

    /// - Parameter onOutboxRead: called once the stored messages have been read.
    init(
        of user: Person, in folder: PersonFolder, from server: ServerConnection, clock: any ClientClock,
        settings: RoomsClient.Settings, onOutboxRead: @escaping @MainActor @Sendable () async -> Void
    ) {
        let files = { part in folder.files(part, log: settings.log) }
        self.folder = folder
        roomCache = RoomListCache(files: files(.rooms), clock: clock)
        let rooms = RoomList(for: user.id, from: server, order: settings.order, clock: clock, cache: roomCache)
        self.rooms = rooms
        drafts = Drafts(files: files(.drafts), clock: clock)
        outbox = Outbox(
            files: files(.outbox), server: server, clock: clock, settings: settings.outbox, log: settings.log,
            onRead: onOutboxRead, onUnknownRoom: { [weak rooms] in rooms?.check($0) },
            onFailedRooms: { [weak rooms] in rooms?.take($0) })
        backing = MessageBacking(
            server: server, outbox: outbox,
            cache: MessageCache(
                files: files(.cache), clock: clock, messageLimit: settings.messageLimit, roomLimit: settings.roomLimit),
            receipts: ReadReceipts(
                server: server, clock: clock, settings: settings.receipts, files: files(.receipts),
                onChange: { [weak rooms, counts = rooms.counts] change, roomID in
                    counts.note(change, in: roomID)
                    Task { await rooms?.noteCounts(of: roomID) }
                }),
            clock: clock)
        boards = OpenBoards(
            of: user, server: server.api,
            files: BoardFiles(files: files(.boards), isForced: settings.outbox.isForced), clock: clock,
            log: settings.log, onUnknownRoom: { [weak rooms] in rooms?.check($0) })
        conversations = OpenConversations(of: user, in: rooms, backing: backing, settings: settings.conversation)
        rooms.shown.onShow = { [weak conversations] in conversations?.noteRooms() }
    }

    /// Reads the messages of an earlier run, and continues to send them.
    func readOutbox() async { await outboxReading.run(outbox) }

    /// Stores everything that is shown or waits, but for drafts, without the network.
    func keepAll() async {
        for conversation in conversations.all { await conversation.keepAll() }
        for board in boards.all { await board.keepAll() }
        await rooms.keepAll()
        await backing.receipts.keepAll()
    }

    /// Returns when everything that waits is sent or refused, or when the task is cancelled.
    ///
    /// - Parameter mayAsk: false if messages and board changes have to wait, because the client is stopped.
    func settle(mayAsk: Bool) async {
        let (conversations, boards) = (conversations.all, boards.all)
        await withTaskGroup { [outbox, receipts = backing.receipts] group in
            for conversation in conversations { group.addTask { await conversation.typing.settle() } }
            // This includes the receipts of rooms that were just closed.
            group.addTask { await receipts.flush() }
            guard mayAsk else { return }
            group.addTask { await outbox.settle() }
            for board in boards { group.addTask { await board.sender.settle() } }
        }
    }

    /// Returns the number of messages and board changes that the server does not have, including edits in conflict.
    ///
    /// - Throws: the file system's error, or the refusals `not_forgotten` and `in_use`, if they cannot be counted now.
    func unsentCount() async throws -> Int {
        try await folder.take()
        return try await outbox.unsentCount() + boards.unsentCount()
    }

    /// Returns the number of everything that is not sent; nil if something may wait that cannot be read.
    func unsentCountWithReceipts() async -> Int? {
        guard let receipts = await backing.receipts.unsentCount(), let changes = try? await unsentCount() else {
            return nil
        }
        return changes + receipts
    }

    /// Deletes all local data of a room that the person is no longer in, and ends its board and conversation.
    ///
    /// - Parameter reason: the failure that they show.
    func forget(_ roomID: String, because reason: ClientFailure) async {
        await boards.forget(roomID, because: reason)
        await conversations.forget(roomID, because: reason)
        await outbox.removeAll(in: roomID)
        drafts.removeAll(in: roomID)
    }

    /// Stores the end of a replay, with the events that cached rooms have missed.
    func keep(_ advance: FreshRooms.Advance, of user: Person) async {
        // After a launch, the replay may end before the list shows its cached rooms.
        await rooms.showKept()
        var stores: [String: MessageStore] = [:]
        for roomID in advance.events.keys {
            guard let room = rooms[roomID] else { continue }
            stores[roomID] = MessageStore(roomID: roomID, ownID: user.id, readership: Readership(of: room))
        }
        await backing.cache.keep(advance, stores: stores)
    }

    /// Sends and stores nothing any more, and releases the folder. What is not sent yet stays on disk for the next client,
    /// which writes the same files.
    package func end() async {
        drafts.end()
        await outbox.stop()
        await boards.end()
        await backing.receipts.removeAll()
        folder.lock.end()
    }

    /// Notes that a sign-out begins: rooms that are opened from now on stay empty.
    func noteSignOut() {
        boards.noteEnd()
        conversations.noteEnd()
        folder.noteToBeForgotten()
    }

    /// Ends and deletes everything, for a sign-out. A repeated call deletes what is left.
    ///
    /// - Throws: the file system's first error, after it has tried everything. The refusal `in_use` if another client has the
    ///   folder: the mark stays, so that client writes nothing more, and the next start deletes the data.
    func removeAll() async throws {
        if !folder.lock.hasEnded {
            do {
                try await folder.take()
            } catch {
                await end()
                throw error
            }
        }
        defer { folder.lock.end() }
        await backing.receipts.removeAll()
        let unwritten = Result { try drafts.removeAll() }
        let unsent = await Result { try await outbox.stopAndRemoveAll() }
        // Leaving a room writes to the cache, so the cache is removed later.
        await conversations.leaveAll()
        let removals = [
            unwritten, unsent, await Result { try await boards.removeAll() },
            await Result { try await backing.cache.removeAll() },
            await Result { try await roomCache.removeAll() },
        ]
        for removal in removals { try removal.get() }
        try folder.removeMark()
    }
}
