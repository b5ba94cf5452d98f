import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@MainActor
@Suite("Random faults while people come and go", .timeLimit(.minutes(2)))
struct GroupChaosTests {
    private let folder = TemporaryFolder()
    private let clock = TestClock()

    /// A room as it is compared: with all of its people only if it is not a large one.
    private func brief(_ room: Room) -> [String] {
        let isLarge = room.participantCount > 10
        let people = room.participants.map { "\($0.username) \($0.role)" }
        return [room.id, room.displayName, "\(room.participantCount)", room.lastMessage?.text ?? ""]
            + ["\(room.badges.messages)"] + (isLarge ? [] : people)
    }

    @Test("after any faults the list, its people and an open chat equal the server's", arguments: Seeds.first(25))
    func ends(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let server = ScriptedServer(clock: clock)
        let (ada, bob) = (server.addPerson("ada"), server.addPerson("bob"))
        let others = (0..<12).map { server.addPerson("guest\($0)").id }
        let groups = [
            try server.makeGroup(by: bob.id, with: [ada.id, others[0]]),
            try server.makeGroup(by: bob.id, with: others + [ada.id]),
        ]
        let phone = server.makeDevice()
        let client = phone.makeClient(of: ada, folder: folder.url)
        await client.start()
        var chaos = Chaos.none
        chaos.drops = 0.03
        chaos.doubledEvents = 0.1
        chaos.lostAnswers = 0.1
        chaos.lostRequests = 0.1
        phone.start(chaos, seed: UInt64(seed))
        var opened: OpenRoom?
        for step in 0..<60 {
            let group = groups[Int.random(in: 0...1, using: &random)]
            let person = ([ada.id] + others).randomElement(using: &random) ?? ada.id
            switch Int.random(in: 0..<12, using: &random) {
            case 0...2: try server.post("\(step)", in: group, by: bob.id)
            case 3, 4: try server.addPeople([person], to: group, by: bob.id)
            // `try?`: the person may not be there.
            case 5: try? server.removePerson(person, from: group, by: bob.id)
            case 6: try? server.removePerson(ada.id, from: group, by: bob.id)
            case 7: try server.addPeople([ada.id], to: group, by: bob.id)
            case 8:
                try? server.setRole(Bool.random(using: &random) ? .owner : .member, of: person, in: group, by: bob.id)
            case 9: phone.setAirplaneMode(Bool.random(using: &random))
            case 10: opened = client.rooms[group].map { client.open($0) }
            default: opened = nil
            }
            if Bool.random(using: &random) {
                await clock.advance(by: .milliseconds(Int.random(in: 1...3000, using: &random)))
            }
        }
        phone.stopChaos()
        phone.setAirplaneMode(false)
        for _ in 0..<6 { await clock.advance(by: .seconds(31)) }
        let truth = try await client.api.myRooms(sortedBy: .activity).rooms
        var stepsLeft = 100
        var nextStep = ContinuousClock.now
        func isRight() -> Bool {
            guard client.rooms.rooms.map(brief) == truth.map(brief) else { return false }
            guard let opened, let room = client.rooms[opened.roomID] else { return true }
            let chat = opened.conversation
            if chat.failure?.isRoomGone == true { return true }
            return room.participants.count == room.participantCount && chat.isVerified
                && chat.items.map(\.text) == server.texts(in: room.id)
        }
        await lookUntil {
            if isRight() { return true }
            if stepsLeft > 0, ContinuousClock.now >= nextStep {
                await clock.advance(by: .seconds(1))
                (stepsLeft, nextStep) = (stepsLeft - 1, .now + .milliseconds(50))
            }
            return false
        }
        #expect(client.rooms.rooms.map(brief) == truth.map(brief), "seed \(seed)")
        #expect(isRight(), "seed \(seed)")
        opened?.close()
        await client.stop()
    }
}
