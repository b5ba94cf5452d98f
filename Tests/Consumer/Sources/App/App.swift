import Foundation
import ParlorClient

/// A small app without a screen: `App http://127.0.0.1:PORT`. Two people sign in and share a room. Each sees what the
/// other does.
@main
struct App {
    static func main() async throws {
        guard let address = CommandLine.arguments.dropFirst().first, let server = URL(string: address) else {
            throw Failed("usage: App ADDRESS")
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "consumer-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let ada = try await Phone("ada", server, folder)
        let ben = try await Phone("ben", server, folder)
        await ada.client.start()
        await ben.client.start()
        try await until("both are connected") {
            ada.client.connection == .connected && ben.client.connection == .connected
        }
        #if os(Linux)
            guard ada.client.isPolling else { throw Failed("the library has a WebSocket on Linux") }
        #endif

        let room = try await ada.client.rooms.makeRoom(with: ben.client.user.id, name: "Kitchen")
        try await until("Ben has the room") { ben.client.rooms[room.id] != nil }
        let hers = ada.client.open(room)
        hers.send("Tea is ready")
        try await until("Ben has an unread message") { ben.client.rooms.counts[room.id].unreadMessages == 1 }

        let his = ben.client.open(room)
        try await until("Ben sees the message") { his.items.last?.text == "Tea is ready" }
        his.noteVisible(his.items)
        try await until("Ada sees that he has read it") { hers.items.last?.state == .read }

        let (board, theirs) = (ada.client.openBoard(room), ben.client.openBoard(room))
        guard let note = board.create(type: "note", content: ["text": .string("Buy milk")]) else {
            throw Failed("the note is not made")
        }
        try await until("the note is on both boards") {
            board[note]?.state == .stored && theirs.items.first?.element.content["text"]?.string == "Buy milk"
        }
        theirs.move(theirs.items[0].id, to: Element.Position(x: 3, y: 4))
        try await until("Ada sees it move") { board[note]?.element.position == Element.Position(x: 3, y: 4) }
        hers.typed()
        try await until("Ben sees that she types") { his.typistIDs == [ada.client.user.id] }

        guard await ada.client.enterBackground() == .settled else { throw Failed("something is not sent") }
        await ada.client.enterForeground()
        await ben.client.close(theirs)
        await ben.client.close(his)
        await ada.client.close(hers)
        for phone in [ada, ben] {
            try await phone.client.signOut()
            await phone.tokens.settleEnding()
            guard await !phone.isSignedIn() else { throw Failed("the session lives on") }
        }
        print("the app works")
    }
}

/// What an app would write itself: it stores the session, and has one client.
final class Phone {
    let client: RoomsClient
    let tokens: SessionTokens
    private let accounts: AccountsAPI
    private let session: Session

    init(_ name: String, _ server: URL, _ folder: URL) async throws {
        accounts = AccountsAPI(transport: URLSessionTransport(base: server))
        session = try await accounts.register(
            username: "\(name)-\(UUID().uuidString.prefix(8))", password: "correct horse", firstName: name.capitalized)
        tokens = try SessionTokens(
            keptIn: FileSessionStore(url: folder.appending(path: "\(name).json")), accounts: accounts)
        await tokens.use(session)
        client = RoomsClient(
            server: server, user: session.user, tokens: tokens, folder: folder.appending(path: session.user.id))
    }

    /// True if the first refresh token still works.
    func isSignedIn() async -> Bool { (try? await accounts.refresh(session.refreshToken)) != nil }
}

struct Failed: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Waits for a condition, such as a change on a screen.
func until(_ what: String, _ isSo: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(30)
    while !isSo() {
        guard ContinuousClock.now < end else { throw Failed("not in time: \(what)") }
        try await Task.sleep(for: .milliseconds(10))
    }
}
