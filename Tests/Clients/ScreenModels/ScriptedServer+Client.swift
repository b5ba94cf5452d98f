import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

extension ScriptedServer {
    /// Returns a connected client of a person on a new device, with the rooms loaded.
    @MainActor
    func connectedClient(of person: Person, folder: TemporaryFolder) async -> RoomsClient {
        let device = makeDevice()
        let client = device.makeClient(of: person, folder: folder.url)
        await client.start()
        await until { client.connection == .connected && client.rooms.isLoaded }
        return client
    }
}
