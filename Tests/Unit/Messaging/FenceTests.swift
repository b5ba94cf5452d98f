import ParlorContracts
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorMessaging
@testable import ParlorServiceKit

@Suite("The fence of a room in messaging's transactions")
struct FenceTests {
    @Test(
        "it is loaded with the chat, also of a room without messages, and again after it was raised",
        arguments: Engine.allCases)
    func loaded(engine: Engine) async throws {
        let folder = TemporaryFolder()
        let database = try engine.open(MessagingService.migrations, in: folder)
        func fences(raisingTo version: Int) async throws -> [Int] {
            try await database.write(wanting: .send(in: "room", nil)) { connection in
                let before = try RoomFences.fence("room", connection)
                try RoomFences(connection).raise("room", to: version)
                return [before, try RoomFences.fence("room", connection)]
            }
        }
        #expect(try await fences(raisingTo: 2) == [0, 2])
        #expect(try await fences(raisingTo: 3) == [2, 3])
        #expect(try await fences(raisingTo: 1) == [3, 3])
        await database.close()
    }
}
