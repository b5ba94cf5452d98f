import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ParlorChat

@MainActor
@Suite("Signing in and out", .timeLimit(.minutes(1)))
final class SignInTests {
    private let clock = TestClock(start: Date())
    private let server: ScriptedServer
    private let device: ScriptedDevice
    private let folder = TemporaryFolder()
    private var asked: [String] = []

    init() {
        server = ScriptedServer(clock: clock)
        device = server.makeDevice()
        for name in ["ada", "ben"] { _ = server.addPerson(name, password: "correct horse") }
    }

    private func program(_ arguments: String...) throws -> SignIn {
        let options = try ChatOptions(
            ["http://chat.example", "--data", folder.path] + arguments)
        return try SignIn(options, http: device, clock: clock) { name in
            MainActor.assumeIsolated { self.asked.append(name) }
            return "correct horse"
        }
    }

    @Test("each person has a session and enters a password once; the last person is the default")
    func two() async throws {
        for name in ["ada", "ben", "ada"] {
            #expect(try await program("--user", name).signIn().client.user.username == name)
        }
        #expect(asked == ["ada", "ben"])
        #expect(try await program().signIn().client.user.username == "ada")
        #expect(try await program("--user", "Ben").signIn().client.user.username == "ben")
        #expect(try await program().signIn().client.user.username == "ben")
        #expect(asked == ["ada", "ben"])
        #expect(try await program("--user", "cleo", "--register").signIn().client.user.username == "cleo")
    }

    @Test("a person can run one program at a time, other people another")
    func held() async throws {
        let ada = try await program("--user", "ada").signIn()
        await #expect(throws: PersonFolder.Held.self) { try await self.program().signIn() }
        await #expect(throws: PersonFolder.Held.self) { try await self.program("--sign-out").signOut() }
        let ben = try await program("--user", "ben").signIn()
        #expect([ada, ben].map(\.client.user.username) == ["ada", "ben"])
    }

    @Test("signing out ends one person's session, here and on the server, and no other's")
    func signingOut() async throws {
        for name in ["ada", "ben"] { _ = try await program("--user", name).signIn() }
        #expect(try await program("--sign-out", "--user", "ada").signOut() == 0)
        #expect(device.requests.last == "POST /api/auth/logout")
        #expect(try await program().signIn().client.user.username == "ben")
        #expect(try await program("--sign-out").signOut() == 0)
        await #expect(throws: SignIn.Nobody.self) { try await self.program().signIn() }
        await #expect(throws: SignIn.Nobody.self) { try await self.program("--sign-out").signOut() }
    }

    @Test("a sign-out without a network takes effect here at once, and a later start ends the session on the server")
    func signingOutOffline() async throws {
        let ada = try await program("--user", "ada").signIn().client.user
        device.setAirplaneMode(true)
        let signingOut = Task { try await program("--sign-out").signOut() }
        await clock.untilSleeping(for: SignOuts.patience)
        await clock.advance(by: SignOuts.patience)
        #expect(try await signingOut.value == 0)
        #expect(server.sessionCount(of: ada.id) == 1)
        await #expect(throws: SignIn.Nobody.self) { try await self.program().signIn() }
        device.setAirplaneMode(false)
        let again = try await program("--user", "ada").signIn()
        #expect(try await program().signOuts.complete())
        #expect(server.sessionCount(of: ada.id) == 1)
        _ = try await again.client.api.room(try server.makeRoom(by: ada.id, with: server.addPerson("cleo").id))
        #expect(try FileManager.default.contentsOfDirectory(atPath: serverFolder.path).count == 2)
    }

    @Test("a sign-out that was interrupted is completed by a later start, with the data")
    func interruptedSignOut() async throws {
        let ada = try await program("--user", "ada").signIn().client.user
        let options = try ChatOptions(["http://chat.example", "--data", folder.path])
        let people = try ServerFolder(options)
        try people.setAside(people.folder(of: ada))
        #expect(try await program().signOuts.complete())
        #expect(server.sessionCount(of: ada.id) == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: serverFolder.path) == ["last"])
    }

    @Test("a session that an earlier version has stored is still signed in")
    func earlierFile() async throws {
        let ada = try await program("--user", "ada").signIn().client.user
        let own = try ServerFolder(ChatOptions(["http://chat.example", "--data", folder.path])).folder(of: ada)
        let session = try #require(own.session)
        try JSONEncoder().encode(session).write(to: own.url.appending(path: "session.json"))
        try FileManager.default.removeItem(at: own.url.appending(path: "sessions.json"))
        #expect(try await program().signIn().client.user == ada)
        #expect(asked == ["ada"])
    }

    @Test("unsent messages prevent a sign-out, unless they are to be discarded")
    func unsent() async throws {
        var ada: SignIn.Person? = try await program("--user", "ada").signIn()
        device.setAirplaneMode(true)
        let message = PendingMessage(tempID: "t", text: "Hello", createdAt: Date())
        try await ada?.client.local.outbox.append(message, in: "room")
        await ada?.client.local.outbox.stop()
        ada = nil
        let tries = sends
        device.setAirplaneMode(false)
        await #expect {
            try await self.program("--sign-out").signOut()
        } throws: {
            ($0 as? SignIn.Unsent)?.count == 1
        }
        #expect(try await program().signIn().client.unsentCount() == 1)
        #expect(try await program("--sign-out", "--discard").signOut() == 0)
        #expect(sends == tries)
        await #expect(throws: SignIn.Nobody.self) { try await self.program().signIn() }
    }

    @Test("unsent board changes prevent a sign-out, unless they are to be discarded")
    func unsentChanges() async throws {
        let ben = try await program("--user", "ben").signIn().client.user
        var ada: SignIn.Person? = try await program("--user", "ada").signIn()
        let roomID = try server.makeRoom(by: try #require(ada).client.user.id, with: ben.id)
        let room = try await #require(ada).client.api.room(roomID).room
        device.setAirplaneMode(true)
        do {
            let opened = try #require(ada).client.open(room)
            opened.board.create(type: "note", content: ["text": .string("Tea")])
            await opened.closeAndKeep()
        }
        await ada?.client.stop()
        ada = nil
        device.setAirplaneMode(false)
        await #expect {
            try await self.program("--sign-out").signOut()
        } throws: {
            ($0 as? SignIn.Unsent)?.count == 1
        }
        #expect(try await program().signIn().client.unsentCount() == 1)
        #expect(try await program("--sign-out", "--discard").signOut() == 0)
        await #expect(throws: SignIn.Nobody.self) { try await self.program().signIn() }
    }

    @Test("a session that the server has ended can be signed out, which removes the person's data here")
    func endedSession() async throws {
        _ = try await program("--user", "ada").signIn()
        let people = try FileManager.default.contentsOfDirectory(atPath: try serverFolder.path)
        server.refuseNext("POST /api/auth/logout", with: Refusal(code: "unauthenticated", message: "", status: 401))
        server.refuseNext("POST /api/auth/refresh", with: Refusal(code: "invalid_token", message: "", status: 401))
        #expect(try await program("--sign-out").signOut() == 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: try serverFolder.path)
        #expect(people.count == 2 && left == ["last"])
        await #expect(throws: SignIn.Nobody.self) { try await self.program("--sign-out").signOut() }
    }

    /// The folder with the data of the one server.
    private var serverFolder: URL {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return folder.url.appending(path: try #require(names.first))
        }
    }

    private var sends: Int { device.requests.count { $0.contains("/messages") } }
}
