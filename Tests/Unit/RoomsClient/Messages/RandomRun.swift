import ClientTestSupport
import Foundation
import RoomsClientTesting

@testable import RoomsClient

/// The history of one seed.
@MainActor
final class RandomRun {
    private static let steps = 28

    /// In memory if possible, because the disk is not under test.
    let temporary = TemporaryFolder(in: "/dev/shm")
    var folder: URL { temporary.url }
    private let server = ModelServer()
    private var random: SeededGenerator
    private var faults: [String] = []
    /// The typed texts, each of them unique.
    private var typed: [String] = []
    /// Delivered events, which may be delivered again.
    private var delivered: [RoomEvent] = []
    private var isConnected = true
    private var lastID = 0

    // The current run of the app.
    private var link: ModelLink
    private var clock = HurriedClock()
    private var outbox: Outbox
    private var conversation: Conversation

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        link = ModelLink(server)
        (outbox, conversation) = Self.makeApp(folder: temporary.url, link: link, clock: clock, firstID: 0)
        for number in 0..<Int.random(in: 0...12, using: &random) { _ = server.write("before \(number)", from: "ann") }
        server.forgetEvents()
    }

    func go() async {
        begin()
        for _ in 0..<Self.steps {
            let before = (conversation.items, conversation.version, ObjectIdentifier(conversation))
            await step()
            for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
            check(since: before)
        }
    }

    private func step() async {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<15: type()
        case ..<27: _ = server.write("other \(server.messages.count)", from: "ann")
        case ..<33: server.messages.randomElement(using: &random).map { server.delete($0.id) }
        case ..<39: server.messages.randomElement(using: &random).map { server.read($0.id, by: "ann") }
        case ..<62: deliver()
        case ..<66: delivered.randomElement(using: &random).map { conversation.apply(.event($0)) }
        case ..<82: server.deal(ModelServer.Fate.allCases.randomElement(using: &random) ?? .lost, using: &random)
        case ..<86: server.release(using: &random)
        case ..<90: await changeConnection()
        case ..<92: await changeVisit()
        case ..<94: clock.advance(by: .random(in: 0.1...6, using: &random))
        case ..<96: Task { [conversation] in await conversation.loadOlder() }
        case ..<98: await deleteOwn()
        default: await restart()
        }
    }

    private func type() {
        let text = "mine \(typed.count)"
        typed.append(text)
        conversation.send(text)
    }

    /// Delivers the next event, or a later one before it.
    private func deliver() {
        guard isConnected, !server.events.isEmpty else { return }
        let event = server.events.remove(at: Int.random(in: 0..<min(3, server.events.count), using: &random))
        delivered.append(event)
        conversation.apply(.event(event))
    }

    /// Changes the connection. While it is away, the server may lose events.
    private func changeConnection() async {
        if isConnected {
            isConnected = false
            conversation.apply(.disconnected(offline))
            server.loseConnection(keepsEvents: Bool.random(using: &random))
        } else {
            await connect()
        }
    }

    private func connect() async {
        isConnected = true
        let isWhole = server.keepsEvents
        server.connect()
        await outbox.noteConnection()
        conversation.apply(.connected)
        conversation.apply(.recovered(isWhole))
    }

    private func changeVisit() async {
        if conversation.isEntered {
            await conversation.leave()
        } else {
            Task { [conversation] in await conversation.enter() }
        }
    }

    private func deleteOwn() async {
        guard let item = conversation.items.last(where: { $0.senderID == "me" && $0.message != nil }) else { return }
        Task { [conversation] in try? await conversation.delete(item.id) }  // if it fails, the message stays
    }

    /// Kills the app, and starts it with what is on the disk.
    private func restart() async {
        // A typed message is on the disk a moment later, and not before.
        await lookUntil { conversation.unkept.isEmpty }
        if Bool.random(using: &random) { await conversation.enterBackground() }
        await outbox.stop()
        server.end(link, using: &random)
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
            folder: folder.appending(path: "outbox"), server: link, clock: clock, settings: settings, random: { 0.5 })
        let ids = Guarded(firstID)
        let backing = Conversation.Backing(
            server: link, outbox: outbox,
            cache: MessageCache(folder: folder.appending(path: "cache"), clock: clock, messageLimit: 5),
            receipts: ReadReceipts(server: link, clock: clock), clock: clock,
            makeID: {
                ids.withLock { id in
                    id += 1
                    return "t\(id)"
                }
            })
        var shown = Conversation.Settings()
        // Small limits, so that a short history has several pages and reaches them.
        (shown.pageSize, shown.refetchPageSize, shown.refetchLimit) = (4, 3, 9)
        return (
            outbox,
            Conversation(
                roomID: "room", ownID: "me", participantIDs: ["me", "ann"], backing: backing, settings: shown)
        )
    }

    // MARK: - What has to hold

    /// Checks what always holds: items are in order and unique, and every change raises the version.
    private func check(since before: (MessageItems, Int, ObjectIdentifier)) {
        let items = conversation.items
        if Set(items.map(\.id)).count != items.count { faults.append("twice the same row: \(items.shown)") }
        let seqs = items.map { $0.seq ?? .max }
        if seqs != seqs.sorted() { faults.append("out of order: \(seqs)") }
        guard before.2 == ObjectIdentifier(conversation) else { return }
        if before.0 != items, conversation.version <= before.1 { faults.append("changed without a version") }
        if conversation.version < before.1 { faults.append("the version fell") }
    }

    /// Ends the faults. Then all typed messages arrive, and everything on the server is shown.
    func faultsAtTheEnd() async -> [String] {
        if !isConnected { await connect() }
        if !conversation.isEntered { await changeVisit() }
        for _ in 0..<2_000 {
            if await isSettled() { break }
            while server.hasCalls {
                server.deal(.answered, using: &random)
                server.release(using: &random)
                await Task.yield()
            }
            while !server.events.isEmpty { deliver() }
            for item in conversation.items.filter({ $0.pending?.state.isFailed == true }) {
                await conversation.retry(item.id)
            }
            if conversation.isVerified, conversation.hasOlder {
                Task { [conversation] in await conversation.loadOlder() }
            }
            clock.advance(by: 1)
            for _ in 0..<3 { await Task.yield() }
        }
        guard await isSettled() else {
            return faults + [
                "does not come to rest: \(conversation.items.shown), \(await outbox.messages(in: "room")), "
                    + "verified \(conversation.isVerified), gap \(String(describing: conversation.store.firstGap)), "
                    + "entered \(conversation.isEntered), loading \(conversation.isLoading), "
                    + "failed \(String(describing: conversation.failure)), calls \(server.hasCalls)"
            ]
        }
        if conversation.items.map(\.message) != server.messages {
            faults.append("shown \(conversation.items.shown), the server has \(server.messages.map(\.id))")
        }
        if server.idByTempID.count != typed.count {
            faults.append("\(typed.count) typed, \(server.idByTempID.count) arrived")
        }
        // A refused message that was retried may come later.
        let inTurn = server.arrived.filter { !server.refused.contains($0) }
        if inTurn != typed.filter({ !server.refused.contains($0) }) { faults.append("not as typed: \(inTurn)") }
        return faults
    }

    /// Ends the run. Nothing is written to the folder after it.
    func end() async {
        await conversation.leave()
        await outbox.stop()
    }

    private func isSettled() async -> Bool {
        let unsent = await outbox.messages(in: "room")
        return unsent.isEmpty && conversation.unkept.isEmpty && !server.hasCalls && server.events.isEmpty
            && conversation.isVerified && !conversation.isLoading && !conversation.hasOlder
            && conversation.store.firstGap == nil
    }
}
