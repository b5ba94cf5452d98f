import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@MainActor
@Suite("Random faults against a list of rooms", .timeLimit(.minutes(2)))
struct ListChaosTests {
    private let folder = TemporaryFolder()

    @Test("after any faults, the list equals the server's", arguments: Seeds.first(25))
    func ends(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let clock = TestClock()
        let server = ScriptedServer(clock: clock)
        let (ada, bob, eve) = (server.addPerson("ada"), server.addPerson("bob"), server.addPerson("eve"))
        var rooms = try (0..<3).map { _ in try server.makeRoom(by: ada.id, with: bob.id) }
        let foreign = try server.makeRoom(by: bob.id, with: eve.id)
        let phone = server.makeDevice()
        let client = phone.makeClient(of: ada, folder: folder.url)
        let list = client.rooms
        await client.start()
        var chaos = Chaos.none
        chaos.drops = 0.03
        chaos.doubledEvents = 0.1
        chaos.lostAnswers = 0.1
        chaos.lostRequests = 0.1
        phone.start(chaos, seed: UInt64(seed))
        var messages: [(room: String, id: String, by: String)] = []
        var elements: [(room: String, id: String)] = []
        for step in 0..<60 {
            let room =
                Bool.random(using: &random) && step % 7 == 0
                ? foreign : rooms[Int.random(in: rooms.indices, using: &random)]
            switch Int.random(in: 0..<12, using: &random) {
            case 0...3:
                let by = room != foreign && Bool.random(using: &random) ? ada.id : bob.id
                messages.append((room, try server.post("\(step)", in: room, by: by), by))
            case 4, 5: elements.append((room, try server.addElement(in: room, by: bob.id)))
            case 6:
                if let index = messages.indices.randomElement(using: &random) {
                    let message = messages.remove(at: index)
                    try server.deleteMessage(message.id, in: message.room, by: message.by)
                }
            case 7:
                if let index = elements.indices.randomElement(using: &random) {
                    let element = elements.remove(at: index)
                    try server.deleteElement(element.id, in: element.room, by: bob.id)
                }
            case 8: try server.rename(room, to: "name \(step)", by: bob.id)
            case 9:
                if room != foreign, let message = messages.last(where: { $0.room == room }) {
                    try server.markRead([message.id], in: room, by: ada.id)
                }
            case 10: phone.setAirplaneMode(Bool.random(using: &random))
            default: rooms.append(try server.makeRoom(by: bob.id, with: ada.id))
            }
            if Bool.random(using: &random) {
                await clock.advance(by: .milliseconds(Int.random(in: 1...3000, using: &random)))
            }
        }
        let settled = clock.elapsed
        phone.stopChaos()
        phone.setAirplaneMode(false)
        for _ in 0..<6 { await clock.advance(by: .seconds(31)) }
        let truth = try await client.api.myRooms(sortedBy: .activity).rooms
        func brief(_ room: Room) -> [String] {
            let counts = [room.elementCount, room.badges.messages, room.badges.elements]
            return [room.id, room.displayName, room.lastMessage?.text ?? "", "\(room.lastActivityType)", "\(counts)"]
        }
        // The clock does not wait for files, which take long on a busy machine: so a step of the clock comes after real
        // time in which nothing has changed. The list has to be right before it is fetched again because of its age.
        var stepsLeft = 100
        var nextStep = ContinuousClock.now
        await lookUntil {
            if list.rooms.map(brief) == truth.map(brief) { return true }
            if stepsLeft > 0, ContinuousClock.now >= nextStep {
                await clock.advance(by: .seconds(1))
                (stepsLeft, nextStep) = (stepsLeft - 1, .now + .milliseconds(50))
            }
            return false
        }
        #expect(clock.elapsed - settled < .seconds(RoomList.freshness))
        #expect(list.rooms.map(brief) == truth.map(brief), "seed \(seed)")
        #expect(list.counts.latest(of: foreign) == nil)
        await client.stop()
    }
}
