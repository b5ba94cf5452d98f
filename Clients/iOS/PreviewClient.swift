import Foundation
import RoomsClient
import RoomsClientTesting

/// Ada's client on a server in memory, for previews: a room with Ben, a message and a note.
enum PreviewClient {
    static let server = ScriptedServer(clock: SystemClock())
    static let ada = server.addPerson("ada", firstName: "Ada")
    static let ben = server.addPerson("ben", firstName: "Ben")

    static let roomID: String = {
        guard let id = try? server.makeRoom(by: ada.id, with: ben.id, name: "Kitchen") else { return "" }
        _ = try? server.post("Tea is ready", in: id, by: ben.id)
        return id
    }()

    static let client: RoomsClient = {
        _ = roomID
        let device = server.makeDevice()
        let client = RoomsClient(
            server: URL(filePath: "/"), user: ada, tokens: ScriptedTokens(of: ada, on: server), http: device,
            sockets: device, folder: FileManager.default.temporaryDirectory.appending(path: "preview"))
        Task { await client.start() }
        return client
    }()
}
