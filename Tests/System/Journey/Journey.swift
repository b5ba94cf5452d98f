import Foundation
import ParlorClient

/// Ada writes five hundred messages while her network fails and returns; Ben reads, and answers now
/// and then.
@MainActor
struct Journey {
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    private struct Guest {
        let session: Session
        let tokens: SessionTokens
        let network: CutNetwork
        let client: RoomsClient
    }

    private let server: URL
    private let folder = FileManager.default.temporaryDirectory.appending(path: "client-journey-\(UUID().uuidString)")

    private static let sends = 500
    /// The number of network failures, at even intervals.
    private static let cuts = 5
    /// Shorter than a test's limit, so that this reports what was missing.
    private static let maxWait: Duration = .seconds(45)
    private static let pollInterval: Duration = .milliseconds(20)

    init(on server: URL) { self.server = server }

    /// - Returns: a line about what was done.
    func run() async throws -> String {
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary one
        var ada = try await arrive("ada")
        let ben = try await arrive("ben")
        let room = try await ada.client.rooms.makeRoom(with: ben.session.user.id, name: "Plans")
        try await until("Ben sees the room") { ben.client.rooms[room.id] != nil }
        var hers = ada.client.openConversation(room)
        let his = ben.client.openConversation(room)
        try await until("both have entered") { hers.isVerified && his.isVerified }

        for number in 1...Self.sends {
            hers.send("\(number)")
            if number.isMultiple(of: 25) { his.send("answer \(number)") }
            let isCut = number.isMultiple(of: Self.sends / Self.cuts)
            if number == Self.sends / 2 {
                (ada, hers) = try await returnAfterKill(of: ada, in: room)
            } else if isCut {
                await ada.network.switchOff()
            } else if number % (Self.sends / Self.cuts) == 40 {
                await ada.network.switchOn()
                await ada.client.enterForeground()
            }
            // Some messages are in flight when the network fails, and some are not.
            if number.isMultiple(of: 5) { try await Task.sleep(for: .milliseconds(5)) }
        }
        await ada.network.switchOn()
        await ada.client.enterForeground()

        let total = Self.sends + Self.sends / 25
        try await until("all \(total) are stored and shown", "\(brief(hers)); \(brief(his))") {
            // Cached messages may have been too far back to be shown on entering: the person
            // scrolls up to them.
            for conversation in [hers, his] where conversation.hasOlder { await conversation.loadOlder() }
            return isWhole(hers, total) && isWhole(his, total)
        }
        his.noteVisible(his.items)
        try await until("all of hers are read") { hers.items.filter { $0.state == .read }.count == Self.sends }
        try await compare(hers, his, with: ada.client.api, in: room)
        try await checkActor(after: ada.client.api, in: room, of: ben.session.user)
        for guest in [ada, ben] {
            await guest.client.stop()
            try await guest.client.signOut()
        }
        return "\(total) messages, once and in order, on both devices as on the server"
    }

    private func isWhole(_ conversation: Conversation, _ total: Int) -> Bool {
        conversation.isVerified && conversation.items.count == total && conversation.items.allSatisfy { $0.seq != nil }
    }

    private func brief(_ conversation: Conversation) -> String {
        let unsent = conversation.items.filter { $0.seq == nil }
        return
            "\(conversation.items.count) shown, \(unsent.count) unsent, first \(unsent.first.map { "\($0)" } ?? "-"), "
            + "verified \(conversation.isVerified), older \(conversation.hasOlder), failure \(conversation.failure.map { "\($0)" } ?? "-")"
    }

    private func compare(_ hers: Conversation, _ his: Conversation, with api: RoomsAPI, in room: Room) async throws {
        var stored: [Message] = []
        while true {
            let page = try await api.messages(in: room.id, after: stored.last?.seq ?? 0, limit: 200)
            stored += page.items
            if page.items.count < 200 { break }
        }
        let ids = stored.map(\.id)
        guard Set(ids).count == ids.count else { throw Failed(description: "the server has a message twice") }
        for shown in [hers, his] where shown.items.compactMap(\.message?.id) != ids {
            throw Failed(description: "what is shown is not what the server has")
        }
        let typed = stored.filter { $0.senderID == hers.ownID }.map(\.text)
        guard typed == (1...Self.sends).map(String.init) else {
            throw Failed(description: "hers are not in the order typed: \(typed.prefix(20))…")
        }
    }

    // MARK: Coming and going

    private func arrive(_ name: String) async throws -> Guest {
        let network = CutNetwork(to: server)
        let accounts = AccountsAPI(transport: network)
        let session = try await accounts.register(
            username: "\(name)-\(UUID().uuidString.prefix(8))", password: "correct horse")
        let store = FileSessionStore(url: folder.appending(path: "\(session.user.id)-session"))
        let tokens = try SessionTokens(keptIn: store, accounts: accounts)
        await tokens.use(session)
        return try await start(session, tokens, network)
    }

    private func start(_ session: Session, _ tokens: SessionTokens, _ network: CutNetwork) async throws -> Guest {
        let client = RoomsClient(
            server: server, user: session.user, tokens: tokens, http: network, sockets: network,
            folder: folder.appending(path: session.user.id))
        await client.start()
        try await until("\(session.user.username) is connected") { client.connection == .connected }
        return Guest(session: session, tokens: tokens, network: network, client: client)
    }

    /// Ends the app abruptly, and starts it again on the data that it left on disk.
    private func returnAfterKill(of guest: Guest, in room: Room) async throws -> (Guest, Conversation) {
        let conversation = guest.client.openConversation(room)
        let end = ContinuousClock.now + Self.maxWait
        // Messages that are not on disk yet cannot be known.
        while !Set(conversation.items.compactMap(\.pending?.tempID)).isSubset(
            of: await guest.client.local.outbox.messages(in: room.id).map(\.tempID))
        {
            guard ContinuousClock.now < end else { throw Failed(description: "what was typed is not kept") }
            try await Task.sleep(for: Self.pollInterval)
        }
        await guest.client.stop()
        // As the end of a process does, this releases the folder.
        await guest.client.local.end()
        await guest.network.switchOn()
        let again = try await start(guest.session, guest.tokens, guest.network)
        return (again, again.client.openConversation(room))
    }

    private func until(
        _ what: String, _ state: @autoclosure () -> String = "", _ isSo: () async -> Bool
    ) async throws {
        let end = ContinuousClock.now + Self.maxWait
        while await !isSo() {
            guard ContinuousClock.now < end else {
                throw Failed(description: "not within \(Self.maxWait): \(what) \(state())")
            }
            try await Task.sleep(for: Self.pollInterval)
        }
    }
}
