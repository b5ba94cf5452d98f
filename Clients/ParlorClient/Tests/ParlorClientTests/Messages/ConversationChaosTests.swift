import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests like `AnyOrderTests`, but with the whole client and a scripted server in place of a model.
@MainActor
@Suite("Random faults against a conversation", .timeLimit(.minutes(2)))
struct ConversationChaosTests {
    @Test(
        "after any faults, a room equals the server's, and own messages are in the order typed",
        arguments: Seeds.first(15))
    func ends(seed: Int) async throws {
        let run = try ChaosRun(seed: UInt64(seed))
        await run.go()
        let faults = try await run.faultsAtTheEnd()
        #expect(faults.isEmpty, "seed \(seed)")
    }
}

/// The run of one seed.
@MainActor
final class ChaosRun {
    private static let steps = 50
    /// The real time in which a run has to settle. It is long, because other tests keep the machine busy.
    private static let maxWait: Duration = .seconds(90)

    let temporary = TemporaryFolder(in: "/dev/shm")
    var folder: URL { temporary.url }
    private let clock = TestClock()
    private let server: ScriptedServer
    private let (ada, bob): (Person, Person)
    private let room: Room
    private let phone: ScriptedDevice
    private var random: SeededGenerator
    private var client: RoomsClient
    private var conversation: Conversation
    private var isOpen = true
    private var typed: [String] = []
    /// The texts whose deletion was requested, even if the request was lost.
    private var deleted: Set<String> = []
    private var others: [String] = []

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        server = ScriptedServer(clock: clock)
        (ada, bob) = (server.addPerson("ada"), server.addPerson("bob"))
        let roomID = try server.makeRoom(by: ada.id, with: bob.id)
        let people = [ada, bob].map {
            Room.Participant(userID: $0.id, username: $0.username, joinedAt: start, isPresent: false)
        }
        room = Room(
            id: roomID, displayName: "Plans", createdBy: ada.id, createdAt: clock.now, updatedAt: clock.now,
            lastActivityAt: clock.now, participants: people)
        phone = server.makeDevice()
        client = phone.makeClient(of: ada, folder: temporary.url)
        conversation = client.openConversation(room)
        phone.start(Chaos(), seed: seed)
    }

    func go() async {
        await client.start()
        for _ in 0..<Self.steps {
            await step()
            if Bool.random(using: &random) {
                await clock.advance(by: .milliseconds(Int.random(in: 1...2000, using: &random)))
            }
        }
    }

    private func step() async {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<30: type()
        case ..<50: post()
        case ..<56: deleteOwn()
        case ..<60: deleteOther()
        case ..<66: conversation.noteVisible(conversation.items)
        case ..<72: read()
        case ..<84: phone.setAirplaneMode(Bool.random(using: &random))
        case ..<88: server.closeSockets()
        case ..<96: await changeScreen()
        default: await restart()
        }
    }

    private func type() {
        guard isOpen else { return }
        let text = "mine \(typed.count)"
        typed.append(text)
        conversation.send(text)
    }

    private func post() {
        let text = "other \(others.count)"
        do {
            others.append(try server.post(text, in: room.id, by: bob.id))
        } catch {
            Issue.record(error)
        }
    }

    private func deleteOwn() {
        guard let item = conversation.items.last(where: { $0.senderID == ada.id && $0.message != nil }) else { return }
        deleted.insert(item.text)
        // `try?`: if the request is lost, the message stays.
        Task { [conversation] in try? await conversation.delete(item.id) }
    }

    private func deleteOther() {
        guard let id = others.randomElement(using: &random) else { return }
        try? server.deleteMessage(id, in: room.id, by: bob.id)  // `try?`: it may be deleted already
    }

    private func read() {
        let own = conversation.items.compactMap(\.message).filter { $0.senderID == ada.id }.map(\.id)
        if !own.isEmpty { try? server.markRead(own, in: room.id, by: bob.id) }  // `try?`: deleted ones do not matter
    }

    private func changeScreen() async {
        if isOpen {
            await client.local.conversations.close(conversation)
        } else {
            conversation = client.openConversation(room)
        }
        isOpen.toggle()
    }

    /// Kills the app, and starts it with what is on the disk.
    private func restart() async {
        // A typed message is not on the disk at once, so this waits for it.
        await lookUntil { conversation.sending.unkept.isEmpty }
        await client.local.outbox.stop()
        await client.endProcess()
        client = phone.makeClient(of: ada, folder: folder)
        isOpen = true
        conversation = client.openConversation(room)
        await client.start()
    }

    // MARK: - What has to hold

    /// Ends the faults. Then all typed messages arrive, and everything on the server is shown.
    func faultsAtTheEnd() async throws -> [String] {
        phone.stopChaos()
        phone.setAirplaneMode(false)
        if !isOpen { await changeScreen() }
        await client.enterForeground()
        var answer: [Message]?
        let giveUp = ContinuousClock.now + Self.maxWait
        while ContinuousClock.now < giveUp {
            // A step is shorter than any time limit, so that requests are answered in time even on a busy machine.
            await clock.advance(by: .milliseconds(200))
            if conversation.hasOlder { await conversation.loadOlder() }
            guard await isSettled() else { continue }
            let kept = try await client.api.messages(in: room.id, limit: 200).items
            answer = kept
            if conversation.items.map(\.message) == kept { break }
        }
        guard let kept = answer, await isSettled() else {
            let gap = conversation.timeline.store.firstGap
            let unsent = await client.local.outbox.messages(in: room.id)
            return [
                """
                does not come to rest: \(conversation.items.map(\.text)), entered \(conversation.isEntered), \
                fetched \(conversation.isFetched), loading \(conversation.isLoading), \
                older \(conversation.hasOlder), gap \(String(describing: gap)), \
                failure \(String(describing: conversation.failure)), \(client.connection), unsent \(unsent), \
                clock \(clock.elapsed)
                """
            ]
        }
        var faults: [String] = []
        let shown = conversation.items.map(\.message)
        let texts = (shown: shown.map { $0?.text }, kept: kept.map(\.text))
        if texts.shown != texts.kept { faults.append("shown \(texts.shown), the server has \(texts.kept)") }
        for (shown, kept) in zip(shown, kept) where shown?.text == kept.text && shown != kept {
            faults.append("shown \(String(describing: shown)), the server has \(kept)")
        }
        let own = kept.filter { $0.senderID == ada.id }.map(\.text)
        let expected = typed.filter { own.contains($0) || !deleted.contains($0) }
        if own != expected { faults.append("typed \(expected), the server has \(own)") }
        // The folder is removed after this, so nothing may write to it any more.
        await client.local.conversations.close(conversation)
        await client.local.outbox.stop()
        await client.stop()
        return faults
    }

    private func isSettled() async -> Bool {
        await client.local.outbox.messages(in: room.id).isEmpty && conversation.sending.unkept.isEmpty
            && conversation.isVerified
            && !conversation.isLoading && !conversation.hasOlder && conversation.timeline.store.firstGap == nil
    }
}
