import Foundation
import Observation

/// The chat with one person, in one list, over all direct rooms of the two people.
///
/// It opens the ``Conversation``s of the rooms whose messages are shown. It opens another room as soon as its older
/// messages are needed, or when it gets a new one. So everything is live, also in rooms that are made meanwhile, and a
/// room with current cached messages is not fetched. Elements stay unseen, as no board is shown.
///
/// ``items`` has all messages of these rooms from the first shown one on.
///
/// ``RoomsClient/openConversation(with:)`` makes one. ``close()`` ends it, and so does its release, unless it is loading.
@MainActor
@Observable
package final class PersonConversation {
    /// A message, and its room.
    package struct Item: Hashable, Sendable, Identifiable {
        package struct ID: Hashable, Sendable {
            package let roomID: String
            package let itemID: MessageItem.ID
        }

        package let roomID: String
        package let item: MessageItem

        package var id: ID { ID(roomID: roomID, itemID: item.id) }
    }

    /// The shortest pause before messages that could not be fetched are fetched again.
    private static let minPause: Duration = .seconds(1)
    /// The limit of rooms that are opened at once.
    private static let maxOpening = 4
    /// The leeway for a room's time, in seconds, because the server may have cut that time to the second.
    private static let timeLeeway: TimeInterval = 1

    package let person: Person
    /// The messages by the server's time, then the person's own that are not sent yet.
    package private(set) var items: [Item] = []
    /// The direct rooms of the two people. The room in which a message was sent or deleted last comes first.
    package private(set) var rooms: [Room] = []
    /// True if there are older messages.
    package private(set) var hasOlder = false
    package private(set) var isLoadingOlder = false
    /// True if everything shown comes from the server, and every change arrives as an event.
    package private(set) var isVerified = false
    /// The reason why the last fetch failed in one of the rooms; nil if it succeeded in all.
    package private(set) var failure: ClientFailure?
    /// True while ``person`` types in one of the open rooms.
    package private(set) var isTyping = false
    /// The room that the app has chosen for messages; nil for the first of ``rooms``.
    package var chosenRoomID: String?

    /// The room in which ``send(_:in:)`` puts a message; nil without a room. While the signed-in person types, it stays
    /// the same.
    package var targetRoomID: String? { chosenRoomID ?? typingRoomID ?? rooms.first?.id }

    @ObservationIgnored private var handles: [String: OpenRoom] = [:]
    private var opened: [String: Conversation] { handles.mapValues(\.conversation) }
    @ObservationIgnored private let list: RoomList
    @ObservationIgnored private let openRoom: (Room) -> OpenRoom
    /// The room in which the signed-in person has begun to type.
    private var typingRoomID: String?
    /// The number of messages to show at least.
    @ObservationIgnored private var wanted: Int
    @ObservationIgnored private let pageSize: Int
    /// All messages from this time on are shown; nil before they were verified for the first time.
    @ObservationIgnored private var shownFrom: Date?
    @ObservationIgnored private var filling: Task<Void, Never>?
    /// The number of the last observation. Changes that earlier observations report are ignored.
    @ObservationIgnored private var round = 0
    private var isClosed = false
    @ObservationIgnored private let clock: any ClientClock

    init(
        with person: Person, in list: RoomList, pageSize: Int, clock: any ClientClock,
        openRoom: @escaping (Room) -> OpenRoom
    ) {
        self.person = person
        self.list = list
        self.pageSize = pageSize
        self.clock = clock
        self.openRoom = openRoom
        wanted = pageSize
        follow()
    }

    /// Closes the rooms. Call it when the screen is closed. Messages that are not sent yet are still sent.
    ///
    /// Returns when the messages are cached, without waiting for the server.
    package func close() async {
        guard !isClosed else { return }
        isClosed = true
        filling?.cancel()
        let rooms = handles.values
        handles = [:]
        for room in rooms { await room.closeAndKeep() }
    }

    // MARK: Following

    /// Shows the current state, and follows the rooms.
    private func follow() {
        guard !isClosed else { return }
        round += 1
        let current = round
        update()
        withObservationTracking {
            _ = list.rooms
            _ = list.isLoaded
            for conversation in opened.values {
                _ = (conversation.version, conversation.hasOlder, conversation.isVerified)
                _ = (conversation.failure, conversation.typistIDs, conversation.isFetched)
            }
        } onChange: { [weak self] in
            // Both closures capture it weakly: otherwise the outer one would keep a dropped chat until the next change.
            Task { @MainActor [weak self] in
                if let self, round == current { follow() }
            }
        }
    }

    private func update() {
        let shared = list.rooms.filter { room in
            room.kind == .direct && room.participants.contains { $0.userID == person.id }
        }.sorted { ($0.messagesUpdatedAt ?? .distantPast, $0.id) > ($1.messagesUpdatedAt ?? .distantPast, $1.id) }
        if rooms != shared { rooms = shared }
        let ids = Set(shared.map(\.id))
        if let typingRoomID, !ids.contains(typingRoomID) { self.typingRoomID = nil }
        if let chosenRoomID, !ids.contains(chosenRoomID) { self.chosenRoomID = nil }
        handles = handles.filter { ids.contains($0.key) }
        let needed = openNeeded()
        let isComplete = list.isLoaded && needed.isEmpty && opened.values.allSatisfy(\.isVerified)
        let from = completeFrom(besides: Set(needed.map(\.id)))
        show(from: min(from, shownFrom ?? .distantFuture), isOlder: from > .distantPast || !needed.isEmpty)
        if isComplete, shownFrom == nil || from < shownFrom ?? from { shownFrom = from }
        let isFilled = shownFrom.map { from <= $0 } ?? true
        if !isFilled { fill() }
        set(\.isVerified, isComplete && isFilled)
        set(\.isTyping, opened.values.contains { $0.typistIDs.contains(person.id) })
        set(\.failure, opened.sorted { $0.key < $1.key }.compactMap(\.value.failure).first)
    }

    private func set<Value: Equatable>(
        _ path: ReferenceWritableKeyPath<PersonConversation, Value>, _ value: Value
    ) {
        if self[keyPath: path] != value { self[keyPath: path] = value }
    }

    /// Opens rooms whose messages may be among those that are wanted.
    ///
    /// - Returns: the rooms that have to wait, because others are being opened.
    private func openNeeded() -> [Room] {
        let needed = unopened.prefix(while: isNeeded)
        // What is being loaded may be enough.
        let isLoading = opened.values.contains { !$0.isFetched && $0.failure == nil }
        let count = isLoading ? 0 : Self.maxOpening
        for room in needed.prefix(count) { _ = open(room) }
        return Array(needed.dropFirst(count))
    }

    /// The rooms with messages that are not open, latest message first.
    private var unopened: [Room] { rooms.filter { handles[$0.id] == nil && $0.messagesUpdatedAt != nil } }

    /// Returns true unless the wanted messages are all later than those of the room.
    private func isNeeded(_ room: Room) -> Bool {
        let later = opened.values.reduce(0) { count, conversation in
            count + conversation.items.stored.reversed().prefix(wanted).prefix { $0.createdAt > latest(in: room) }.count
        }
        return later < wanted
    }

    private func latest(in room: Room) -> Date {
        (room.messagesUpdatedAt ?? .distantPast).addingTimeInterval(Self.timeLeeway)
    }

    /// Returns the time from which all messages are there.
    ///
    /// - Parameter waiting: rooms that are about to be opened.
    private func completeFrom(besides waiting: Set<String>) -> Date {
        var from = Date.distantPast
        for conversation in opened.values where conversation.hasOlder {
            if let first = conversation.items.stored.first { from = max(from, first.createdAt) }
        }
        if let room = unopened.first(where: { !waiting.contains($0.id) }) { from = max(from, latest(in: room)) }
        return from
    }

    private func show(from: Date, isOlder: Bool) {
        var stored: [Item] = []
        var pending: [Item] = []
        for (roomID, conversation) in opened {
            for item in conversation.items.stored.reversed() {
                guard item.createdAt >= from else { break }
                stored.append(Item(roomID: roomID, item: item))
            }
            pending += conversation.items.pending.map { Item(roomID: roomID, item: $0) }
        }
        // Messages of one room that have the same time keep their order.
        stored.sort {
            ($0.item.createdAt, $0.item.seq ?? 0, $0.roomID) < ($1.item.createdAt, $1.item.seq ?? 0, $1.roomID)
        }
        pending.sort { ($0.item.createdAt, $0.item.id) < ($1.item.createdAt, $1.item.id) }
        set(\.items, stored + pending)
        set(\.hasOlder, isOlder)
    }

    // MARK: Older messages

    /// Shows older messages, a page at least. On an error it sets ``failure``.
    ///
    /// Does nothing if there are none, or if they are already being loaded.
    package func loadOlder() async {
        guard hasOlder, !isLoadingOlder, !isClosed else { return }
        isLoadingOlder = true
        defer { isLoadingOlder = false }
        let count = items.count + pageSize
        wanted = max(wanted, count)
        follow()
        while !isClosed {
            for conversation in Array(opened.values) { _ = await isLoaded(conversation) }
            follow()
            guard !isClosed, items.count < count, hasOlder, await extend() else { return }
        }
    }

    /// Fetches messages that are missing after the first shown one, for example because a room with many new messages
    /// was opened.
    private func fill() {
        guard filling == nil, !isClosed else { return }
        filling = Task {
            var backoff = Backoff(from: .seconds(1))
            while !isClosed, !Task.isCancelled, let shownFrom, completeFrom(besides: []) > shownFrom {
                if await extend() {
                    backoff.reset()
                } else {
                    let pause = backoff.next(random: .random(in: 0..<1), atLeast: failure?.retryAfter ?? Self.minPause)
                    try? await clock.sleep(for: pause)  // cancelled when the chat is closed
                }
            }
            filling = nil
            follow()
        }
    }

    /// Fetches messages of the room that limits how far back the list is complete.
    ///
    /// - Returns: false if nothing has changed.
    private func extend() async -> Bool {
        let last = opened.filter(\.value.hasOlder).max { first(in: $0.value) < first(in: $1.value) }?.value
        if let room = unopened.first, last.map({ first(in: $0) <= latest(in: room) }) ?? true {
            let conversation = open(room)
            follow()
            return await isLoaded(conversation)
        }
        guard let last else { return false }
        // While a room shows only cached messages, no older page can be fetched.
        guard last.isFetched else { return await isLoaded(last) }
        let before = first(in: last)
        await last.loadOlder()
        for await isLoading in ObservedValues({ last.isLoadingOlder }) where !isLoading { break }
        return !last.hasOlder || first(in: last) < before
    }

    private func first(in conversation: Conversation) -> Date {
        conversation.items.stored.first?.createdAt ?? .distantFuture
    }

    /// Waits until the conversation has fetched its messages.
    ///
    /// - Returns: false if it cannot, or if it was closed.
    private func isLoaded(_ conversation: Conversation) async -> Bool {
        let isOver: @MainActor @Sendable () -> Bool = { [self] in
            conversation.isFetched || conversation.failure != nil || isClosed || !conversation.isEntered
                || !rooms.contains { $0.id == conversation.roomID }
        }
        for await isOver in ObservedValues(isOver) where isOver { break }
        return conversation.isFetched
    }

    // MARK: Sending and reading

    /// Shows a message at once, and sends it as ``Conversation/send(_:)`` does.
    ///
    /// - Parameter roomID: one of ``rooms``; nil for ``targetRoomID``.
    /// - Returns: the item's id; nil if the text cannot be sent, or if the two share no such room.
    @discardableResult
    package func send(_ text: String, in roomID: String? = nil) -> Item.ID? {
        guard let roomID = roomID ?? targetRoomID, let conversation = conversation(of: roomID) else { return nil }
        let itemID = conversation.send(text)
        typingRoomID = nil
        follow()
        return itemID.map { Item.ID(roomID: roomID, itemID: $0) }
    }

    /// Notes that the person changed the text. The message will go to the present ``targetRoomID``, also if a message
    /// comes in another room meanwhile.
    package func typed() {
        guard let roomID = targetRoomID, let conversation = conversation(of: roomID) else { return }
        typingRoomID = roomID
        conversation.typed()
    }

    /// Notes that the text is empty again, or no longer edited.
    package func stoppedTyping() {
        if let typingRoomID { opened[typingRoomID]?.stoppedTyping() }
        typingRoomID = nil
    }

    /// Sends a failed message again, as ``Conversation/retry(_:)`` does.
    package func retry(_ id: Item.ID) async { await opened[id.roomID]?.retry(id.itemID) }

    /// Discards a message that is not sent yet, as ``Conversation/discard(_:)`` does.
    @discardableResult
    package func discard(_ id: Item.ID) async -> Bool { await opened[id.roomID]?.discard(id.itemID) ?? false }

    /// Discards a message that is not sent yet, and returns its text, as ``Conversation/takeBack(_:)`` does.
    package func takeBack(_ id: Item.ID) async -> String? { await opened[id.roomID]?.takeBack(id.itemID) }

    /// Deletes one of the person's own messages for everyone, as ``Conversation/delete(_:)`` does.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`; `room_not_found` also if the chat no longer shows the room.
    package func delete(_ id: Item.ID) async throws {
        guard let conversation = opened[id.roomID] else { throw ClientFailure.roomGone }
        try await conversation.delete(id.itemID)
    }

    /// Notes that items appeared on the screen, as ``Conversation/noteVisible(_:)`` does.
    package func noteVisible(_ items: some Sequence<Item>) {
        for (roomID, items) in Dictionary(grouping: items, by: \.roomID) {
            opened[roomID]?.noteVisible(items.map(\.item))
        }
    }

    /// Notes that items left the screen, as ``Conversation/noteHidden(_:)`` does.
    package func noteHidden(_ items: some Sequence<Item>) {
        for (roomID, items) in Dictionary(grouping: items, by: \.roomID) {
            opened[roomID]?.noteHidden(items.map(\.item))
        }
    }

    /// Sets the items that are on the screen, as ``Conversation/setVisible(_:)`` does.
    package func setVisible(_ items: some Sequence<Item>) {
        let groups = Dictionary(grouping: items, by: \.roomID)
        for (roomID, conversation) in opened { conversation.setVisible((groups[roomID] ?? []).map(\.item)) }
    }

    /// Marks all messages of all ``rooms`` as read, as ``Conversation/markAllRead()`` does.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`.
    package func markAllRead() async throws {
        for room in rooms where opened[room.id] != nil || list.counts.latest(of: room.id)?.unreadMessages != 0 {
            try await conversation(of: room.id)?.markAllRead()
        }
        follow()
    }

    /// Returns the conversation of one of the rooms, and opens the room if it is not open yet.
    private func conversation(of roomID: String) -> Conversation? {
        if let conversation = opened[roomID] { return conversation }
        guard !isClosed, let room = rooms.first(where: { $0.id == roomID }) else { return nil }
        return open(room)
    }

    private func open(_ room: Room) -> Conversation {
        let handle = openRoom(room)
        handles[room.id] = handle
        return handle.conversation
    }
}
