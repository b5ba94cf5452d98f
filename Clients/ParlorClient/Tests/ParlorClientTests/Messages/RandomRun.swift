import ClientTestSupport
import Foundation
import ParlorClientTesting

@testable import ParlorClient

/// A replay of one seed's history on a conversation, its outbox and its files.
@MainActor
final class RandomRun {
    /// The folder is in memory if possible, because the disk is not under test.
    let temporary = TemporaryFolder(in: "/dev/shm")
    var folder: URL { temporary.url }
    private let history: Interleaving
    private let server = ModelServer()
    /// Decides how far tasks get between two steps, which the history does not say.
    private var random: SeededGenerator
    private var faults: [String] = []
    private var typedCount = 0
    private var otherCount = 0
    private var refused: Set<String> = []
    /// The texts that were retried, and since then neither sent nor refused.
    private var retried: Set<String> = []
    private var discarded: Set<String> = []
    /// The delivered events that the server may still repeat.
    private var delivered: [RoomEvent] = []
    private var isConnected = true
    private var lastID = 0

    // The current run of the app.
    private var link: ModelLink
    private var clock = HurriedClock()
    private var outbox: Outbox
    private var conversation: Conversation

    init(seed: UInt64) {
        history = Interleaving(seed: seed)
        random = SeededGenerator(seed: seed)
        link = ModelLink(server)
        (outbox, conversation) = Self.makeApp(folder: temporary.url, link: link, clock: clock, firstID: 0)
        for number in 0..<history.before { _ = server.write("before \(number)", from: "ann") }
        server.forgetEvents()
    }

    func go() async {
        begin()
        for step in history.steps {
            let before = (conversation.items, conversation.version, ObjectIdentifier(conversation))
            await go(step)
            for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
            check(since: before)
        }
    }

    private func go(_ step: Interleaving.Step) async {
        switch step {
        case .type: type()
        case .other:
            _ = server.write("other \(otherCount)", from: "ann")
            otherCount += 1
        case .delete(let index): server.delete(server.messages[index].id)
        case .read(let index): server.read(server.messages[index].id, by: "ann")
        case .deliver(let choice): deliver(choice)
        case .again(let choice):
            if !delivered.isEmpty { conversation.apply(.event(delivered[choice % delivered.count])) }
        case .send(let number, let fate): await send("mine \(number)", fate)
        case .page(let choice, let fate): server.dealPage(fate, choice: choice)
        case .release(let choice): server.release(choice: choice)
        case .disconnect(let keepsEvents): disconnect(keepsEvents: keepsEvents)
        case .connect: await connect()
        case .leave: await leave()
        case .enter: Task { [conversation] in await conversation.enter() }
        case .wait(let milliseconds): clock.advance(by: Double(milliseconds) / 1_000)
        case .older: Task { [conversation] in await conversation.loadOlder() }
        case .remove(let index, let fate): await remove(server.messages[index].id, fate)
        case .retry(let number): await retry("mine \(number)")
        case .discard(let number): await discard("mine \(number)")
        case .restart(let isPrepared): await restart(isPrepared: isPrepared)
        }
    }

    private func type() {
        conversation.send("mine \(typedCount)")
        typedCount += 1
    }

    /// Delivers the next event, or one of the two after it.
    private func deliver(_ choice: Int) {
        guard isConnected, !server.events.isEmpty else { return }
        let event = server.events.remove(at: choice % min(3, server.events.count))
        delivered.append(event)
        conversation.apply(.event(event))
    }

    /// Leaves the room. Events that are on their way arrive now, while the room is closed, and not during the next
    /// visit.
    private func leave() async {
        await conversation.leave()
        if isConnected { for event in server.events { conversation.apply(.event(event)) } }
        server.events = []
        delivered = []
    }

    private func disconnect(keepsEvents: Bool) {
        isConnected = false
        conversation.apply(.disconnected(offline))
        server.loseConnection(keepsEvents: keepsEvents)
        if !keepsEvents { delivered = [] }
    }

    private func connect() async {
        isConnected = true
        let isWhole = server.keepsEvents
        server.connect()
        await outbox.noteConnection()
        conversation.apply(.connected)
        conversation.apply(.recovered(isWhole))
    }

    /// Deletes a message: here if it is shown, otherwise on another device.
    private func remove(_ id: String, _ fate: Interleaving.Fate) async {
        let ended = Guarded(false)
        if let item = conversation.items.last(where: { $0.message?.id == id }) {
            Task { [conversation] in
                try? await conversation.delete(item.id)  // `try?`: if it fails, the message stays
                ended.withLock { $0 = true }
            }
            await lookUntil { server.requests.contains(.delete(id)) || ended.withLock { $0 } }
        }
        server.deal(fate, to: .delete(id))
        server.delete(id)
    }

    // MARK: - What is sent

    /// Waits for the request that sends a text, and decides about it.
    private func send(_ text: String, _ fate: Interleaving.Fate) async {
        await passTime { server.requests.contains(.send(text)) }
        if server.requests.count(where: \.isSending) != 1 { faults.append("two are sent at once: \(server.requests)") }
        server.deal(fate, to: .send(text))
        if fate == .refused { refused.insert(text) }
        if fate != .lost { retried.remove(text) }
    }

    private func retry(_ text: String) async {
        guard let id = await failed(text) else { return }
        refused.remove(text)
        retried.insert(text)
        await conversation.retry(id)
    }

    private func discard(_ text: String) async {
        guard let id = await failed(text) else { return }
        discarded.insert(text)
        await conversation.discard(id)
    }

    /// Waits until a message has failed, and returns its id.
    private func failed(_ text: String) async -> String? {
        await passTime { await idOfFailed(text) != nil }
        return await idOfFailed(text)
    }

    private func idOfFailed(_ text: String) async -> String? {
        await outbox.messages(in: "room").first { $0.text == text && $0.state.isFailed }?.id
    }

    /// Lets time pass until a condition is true.
    ///
    /// Meanwhile, each request to send gets an answer that changes nothing in the room. Its message is already stored,
    /// or is refused again, or has to wait for a retried message that was typed before it.
    private func passTime(_ isSo: @MainActor () async -> Bool) async {
        await lookUntil {
            if await isSo() { return true }
            server.releaseAnswersToSending()
            for case .send(let text) in server.requests {
                let isOvertaken = retried.contains { Self.number(of: $0) < Self.number(of: text) }
                let isInTurn = server.arrived.contains(text) || refused.contains(text) || isOvertaken
                if !isInTurn { faults.append("\(text) is sent before its turn") }
                let fate: Interleaving.Fate = refused.contains(text) ? .refused : .lost
                server.deal(server.arrived.contains(text) ? .answered : fate, to: .send(text))
            }
            clock.advance(by: 0.5)
            return false
        }
    }

    /// Returns the N of a text `mine N`, the order in which it was typed. `!`: `type()` makes no other texts.
    private static func number(of text: String) -> Int { Int(text.dropFirst("mine ".count))! }

    /// Kills the app, and starts it with what is on the disk.
    private func restart(isPrepared: Bool) async {
        // A typed message is not on the disk at once, so this waits for it.
        await lookUntil { conversation.sending.unkept.isEmpty }
        if isPrepared { await conversation.enterBackground() }
        await outbox.stop()
        server.end(link)
        delivered = []
        isConnected = true
        link = ModelLink(server)
        clock = HurriedClock()
        lastID += 1_000
        (outbox, conversation) = Self.makeApp(folder: folder, link: link, clock: clock, firstID: lastID)
        begin()
    }

    private func begin() {
        Task { [outbox, conversation] in
            _ = try await outbox.start()
            await conversation.enter()
        }
    }

    private static func makeApp(
        folder: URL, link: ModelLink, clock: HurriedClock, firstID: Int
    ) -> (Outbox, Conversation) {
        var settings = Outbox.Settings()
        settings.isForced = false
        let outbox = Outbox(
            files: RoomFiles(folder: folder.appending(path: "outbox")), server: link, clock: clock, settings: settings,
            random: { 0.5 })
        let ids = Guarded(firstID)
        let backing = MessageBacking(
            server: link, outbox: outbox,
            cache: MessageCache(
                files: RoomFiles(folder: folder.appending(path: "cache")), clock: clock, messageLimit: 5),
            receipts: ReadReceipts(server: link, clock: clock), clock: clock,
            makeID: {
                ids.withLock { id in
                    id += 1
                    return "t\(id)"
                }
            })
        var shown = Conversation.Settings()
        // The limits are small, so that a short history has several pages and reaches the limits.
        (shown.pageSize, shown.refetchPageSize, shown.refetchLimit) = (4, 3, 9)
        return (
            outbox,
            Conversation(
                roomID: "room", ownID: "me", readership: .of("me", "ann"), backing: backing, settings: shown)
        )
    }

    // MARK: - What has to hold

    /// Checks what must always be true: items are in order and unique, and each change raises the version.
    private func check(since before: (MessageItems, Int, ObjectIdentifier)) {
        let items = conversation.items
        if Set(items.map(\.id)).count != items.count { faults.append("twice the same row: \(items.shown)") }
        let seqs = items.map { $0.seq ?? .max }
        if seqs != seqs.sorted() { faults.append("out of order: \(seqs)") }
        guard before.2 == ObjectIdentifier(conversation) else { return }
        if before.0 != items, conversation.version <= before.1 { faults.append("changed without a version") }
        if conversation.version < before.1 { faults.append("the version fell") }
    }

    /// Lets everything arrive, and returns the faults. Then the room must have the history's messages, and show all.
    func faultsAtTheEnd() async -> [String] {
        for _ in 0..<2_000 {
            if await isSettled() { break }
            while server.hasCalls {
                for request in server.requests { server.deal(.answered, to: request) }
                server.release(choice: 0)
                await Task.yield()
            }
            while !server.events.isEmpty { deliver(0) }
            if conversation.isVerified, conversation.hasOlder {
                Task { [conversation] in await conversation.loadOlder() }
            }
            clock.advance(by: 1)
            for _ in 0..<3 { await Task.yield() }
        }
        guard await isSettled() else {
            return faults + [
                "does not come to rest: \(conversation.items.shown), \(await outbox.messages(in: "room")), "
                    + "verified \(conversation.isVerified), gap \(String(describing: conversation.timeline.store.firstGap)), "
                    + "entered \(conversation.isEntered), loading \(conversation.isLoading), "
                    + "failed \(String(describing: conversation.failure)), calls \(server.hasCalls)"
            ]
        }
        if conversation.items.map(\.message) != server.messages {
            faults.append("shown \(conversation.items.shown), the server has \(server.messages.map(\.id))")
        }
        let end = conversation.items.map { "\($0.seq ?? 0) \($0.text)" + ($0.state == .read ? " read" : "") }
        if end != history.end { faults.append("shown \(end), the history ends with \(history.end)") }
        if server.idByTempID.count != typedCount - discarded.count {
            faults.append("\(typedCount) typed, \(server.idByTempID.count) arrived")
        }
        return faults
    }

    /// Ends the run. Nothing is written to the folder after it.
    func end() async {
        await conversation.leave()
        await outbox.stop()
    }

    private func isSettled() async -> Bool {
        let unsent = await outbox.messages(in: "room")
        return unsent.isEmpty && conversation.sending.unkept.isEmpty && !server.hasCalls && server.events.isEmpty
            && conversation.isVerified && !conversation.isLoading && !conversation.hasOlder
            && conversation.timeline.store.firstGap == nil
    }
}
