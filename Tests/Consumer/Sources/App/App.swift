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
        #if os(Linux)
            guard ada.client.isPolling else { throw Failed("the library has a WebSocket on Linux") }
        #endif

        let room = try await ada.client.rooms.makeRoom(with: ben.client.user.id, name: "Kitchen")
        try await until("Ben has the room") { ben.client.rooms[room.id] != nil }
        let herRoom = ada.client.open(room)
        let hers = herRoom.conversation
        hers.send("Tea is ready")
        try await until("Ben has an unread message") { ben.client.rooms.counts[room.id].unreadMessages == 1 }

        let hisRoom = ben.client.open(room)
        let his = hisRoom.conversation
        try await until("Ben sees the message") { his.items.last?.text == "Tea is ready" }
        his.noteVisible(his.items)
        try await until("Ada sees that he has read it") { hers.items.last?.state == .read }

        let (board, theirs) = (herRoom.board, hisRoom.board)
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

        guard await ada.account.enterBackground() == .settled else { throw Failed("something is not sent") }
        await ada.account.enterForeground()
        hisRoom.close()
        herRoom.close()
        for phone in [ada, ben] {
            try await phone.account.signOut()
            guard case .signedOut = phone.account.state, case .signedOut = phone.nextLaunch().state else {
                throw Failed("the session lives on")
            }
        }
        print("the app works")
    }
}

/// One person's app.
final class Phone {
    let account: ParlorAccount
    let client: RoomsClient
    /// Makes the account again, as the next launch of the app does.
    let nextLaunch: () -> ParlorAccount

    init(_ name: String, _ server: URL, _ folder: URL) async throws {
        let folder = folder.appending(path: name)
        nextLaunch = {
            ParlorAccount(server: server, sessionIn: .file(folder.appending(path: "session")), folder: folder)
        }
        account = nextLaunch()
        try await account.register(
            username: "\(name)-\(UUID().uuidString.prefix(8))", password: "correct horse", firstName: name.capitalized)
        guard let client = account.client else { throw Failed("nobody is signed in") }
        self.client = client
    }
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
