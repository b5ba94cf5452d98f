import Foundation
import RoomsClient

/// A small app without a screen: `App http://127.0.0.1:PORT`. Two people sign in, share a room, and each sees what the other does.
@main
struct App {
    static func main() async throws {
        guard let address = CommandLine.arguments.dropFirst().first, let server = URL(string: address) else {
            throw Failed("usage: App ADDRESS")
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "consumer-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let (ada, ben) = (try await Phone("ada", server, folder), try await Phone("ben", server, folder))
        await ada.client.start()
        await ben.client.start()

        let room = try await ada.client.rooms.makeRoom(with: ben.client.user.id, name: "Kitchen")
        try await until("Ben has the room") { ben.client.rooms[room.id] != nil }
        let hers = ada.client.open(room)
        hers.send("Tea is ready")
        try await until("Ben has an unread message") { ben.client.rooms.counts[room.id].unreadMessages == 1 }

        let his = ben.client.open(room)
        try await until("Ben sees the message") { his.items.last?.text == "Tea is ready" }
        his.noteVisible(his.items)
        try await until("Ada sees that he has read it") { hers.items.last?.state == .read }

        await ben.client.close(his)
        await ada.client.close(hers)
        try await ada.client.signOut()
        try await ben.client.signOut()
        print("the app works")
    }
}

/// What stands in an app's own code: the session in a keychain, and one client.
final class Phone {
    let client: RoomsClient

    init(_ name: String, _ server: URL, _ folder: URL) async throws {
        let accounts = AccountsAPI(transport: URLSessionTransport(base: server))
        let session = try await accounts.register(
            username: "\(name)-\(UUID().uuidString.prefix(8))", password: "correct horse", firstName: name.capitalized)
        let tokens = SessionTokens(session, accounts: accounts) { _ in }
        client = RoomsClient(
            server: server, user: session.user, tokens: tokens, folder: folder.appending(path: session.user.id))
    }
}

struct Failed: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Waits for what a screen would show.
func until(_ what: String, _ isSo: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(30)
    while !isSo() {
        guard ContinuousClock.now < end else { throw Failed("not in time: \(what)") }
        try await Task.sleep(for: .milliseconds(10))
    }
}
