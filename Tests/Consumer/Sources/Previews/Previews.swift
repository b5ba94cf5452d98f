import Foundation
import ParlorClient
import ParlorClientTesting

/// A screen's model on a server in memory, as previews and tests have it.
@main
struct Previews {
    static func main() async throws {
        let (server, folder) = (ScriptedServer(clock: TestClock()), TemporaryFolder())
        let (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        let room = try server.makeRoom(by: ben.id, with: ada.id, name: "Kitchen")
        let device = server.makeDevice()
        let client = device.makeClient(of: ada, folder: folder.url)
        await client.start()
        for await rooms in ObservedValues({ client.rooms.rooms }) where !rooms.isEmpty {
            guard rooms.map(\.id) == [room], rooms[0].title() == "Kitchen" else { exit(1) }
            break
        }
        await client.stop()
        print("the previews work")
    }
}
