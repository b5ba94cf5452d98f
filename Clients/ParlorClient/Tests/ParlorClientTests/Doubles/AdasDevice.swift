import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// A device of Ada, who shares a room with Ben on a scripted server.
@MainActor
struct AdasDevice {
    let clock = TestClock()
    let server: ScriptedServer
    let (ada, ben): (Person, Person)
    let roomID: String
    let device: ScriptedDevice
    let temporary = TemporaryFolder()

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
        device = server.makeDevice()
    }

    /// Returns a client of Ada on this device. Another client is the next launch of her app.
    func makeClient(
        tokens: (any TokenProvider)? = nil, http: (any HTTPTransport)? = nil, sockets: (any SocketTransport)? = nil,
        paths: (any NetworkPaths)? = nil
    ) -> RoomsClient {
        device.makeClient(
            of: ada, folder: temporary.url, tokens: tokens, http: http, sockets: sockets, paths: paths)
    }

    /// Returns tokens of a session that can expire and end.
    func makeTokens() throws -> SessionTokens {
        try SessionTokens(
            keptIn: MemorySessionStore(try server.makeSession(of: ada)), accounts: AccountsAPI(transport: device),
            clock: clock)
    }

    /// Returns a client that is connected and has loaded the rooms.
    func connected() async throws -> RoomsClient {
        let client = makeClient()
        await connect(client)
        return client
    }

    /// Starts a client, and returns when it is connected and has loaded the rooms.
    func connect(_ client: RoomsClient) async {
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        await TestClock.settle()
    }

    /// Connects a client, and opens the room with it.
    func openRoom(with client: RoomsClient) async throws -> Conversation {
        await connect(client)
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        return conversation
    }
}

extension RoomsClient {
    /// Stops as with the end of its process: another client may use the folder.
    func endProcess() async {
        await stop()
        local.folder.lock.end()
    }
}
