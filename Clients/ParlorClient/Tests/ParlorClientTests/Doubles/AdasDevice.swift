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

    func makeClient(paths: (any NetworkPaths)? = nil) throws -> RoomsClient {
        RoomsClient(
            server: try #require(URL(string: "https://chat.example")), user: ada,
            tokens: ScriptedTokens(of: ada, on: server), http: device, sockets: device, clock: clock,
            folder: temporary.url, paths: paths)
    }

    /// Returns a client that is connected and has loaded the rooms.
    func connected() async throws -> RoomsClient {
        let client = try makeClient()
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        await TestClock.settle()
        return client
    }
}
