#if DEBUG
    import Foundation
    import ParlorClient
    import ParlorClientTesting

    /// A server in memory and Ada's client, for previews. Ada has some rooms.
    @MainActor
    final class PreviewWorld {
        let server = ScriptedServer()
        let ada: Person
        let ben: Person
        let client: RoomsClient
        /// Ada's device, which can simulate failures of the network.
        let device: ScriptedDevice
        /// An account in which nobody is signed in, for the sign-in screen.
        let account: ParlorAccount
        private let folder = TemporaryFolder()

        init() {
            ada = server.addPerson("ada", firstName: "Ada")
            ben = server.addPerson("ben", firstName: "Ben")
            device = server.makeDevice()
            client = device.makeClient(of: ada, folder: folder.url.appending(path: "ada"))
            account = device.makeAccount(folder: folder.url.appending(path: "accounts"))
            do { try fill() } catch { preconditionFailure("the server in memory refuses: \(error)") }
        }

        /// Connects Ada's client, and returns the room with the latest activity.
        func start() async -> Room? {
            await client.start()
            await client.rooms.refresh()
            return client.rooms.rooms.first
        }

        private func fill() throws {
            for number in 1...60 { _ = server.addPerson("guest\(number)", firstName: "Guest \(number)") }
            // Two rooms of the same two people: one without a name, and one with a name.
            try server.makeRoom(by: ben.id, with: ada.id)
            let kitchen = try server.makeRoom(by: ada.id, with: ben.id, name: "Kitchen")
            let cleo = server.addPerson("cleo", firstName: "Cleo")
            try server.post("See you in Lisbon", in: try server.makeRoom(by: cleo.id, with: ada.id), by: cleo.id)
            try server.makeGroup(by: cleo.id, with: [ada.id, ben.id], name: "Holidays")
            for number in 1...40 { try server.post("Tea or coffee, \(number)?", in: kitchen, by: ada.id) }
            try server.post("Tea, please", in: kitchen, by: ben.id)
            for (text, x) in [("Buy milk", 24.0), ("Call the plumber", 256)] {
                try server.act(
                    as: ben.id, "element:create",
                    .object([
                        "roomId": .string(kitchen), "type": .string(Element.note), "content": .note(text),
                        "position": .object(["x": .number(x), "y": .number(24)]),
                    ]))
            }
        }
    }
#endif
