import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ParlorChat

@MainActor
@Suite("parlor-chat: commands that change a group's people", .timeLimit(.minutes(1)))
struct GroupCommandTests {
    private let harness: ChatHarness
    private let cleo: Person

    init() throws {
        harness = try ChatHarness()
        cleo = harness.server.addPerson("cleo", firstName: "Cleo")
    }

    private func enter(_ title: String) async {
        await harness.untilShown("› \(title)")
        harness.press(.enter)
        await harness.untilShown { $0.contains("\n> ") && !$0.contains("checking…") }
    }

    private func confirm(_ command: String, asking question: String) async {
        harness.write(command)
        await harness.untilShown(question)
        harness.press(.character("y"))
    }

    @Test("a group is made of people of one's rooms and of others, by their usernames")
    func making() async throws {
        await enter("Plans")
        harness.write("/group ben nobody")
        await harness.untilShown("Nobody is called nobody.")
        harness.write("/group @ben CLEO")
        await harness.untilShown("“ada & ben & Cleo” is in the list of rooms.")
        harness.press(.escape)
        await harness.untilShown("› Plans")
        await harness.untilShown("ada & ben & Cleo")
        await harness.quit()
    }

    @Test("people are added and removed, become owners, and leave")
    func changing() async throws {
        try harness.server.makeGroup(by: harness.ada.id, with: [harness.ben.id], name: "Trip")
        await enter("Trip")
        harness.write("/add cleo")
        await harness.untilShown("Added: Cleo")
        await confirm("/owner Cleo", asking: "Make Cleo an owner?")
        await harness.untilShown { !$0.contains("an owner?") && !$0.contains("…") }
        harness.write("/people")
        await harness.untilShown("• Cleo  @cleo  owner")
        #expect(harness.display.text.contains("• ada  you, owner"))
        #expect(harness.display.text.contains("3 people"))
        harness.press(.escape)
        await confirm("/remove ben", asking: "Remove ben?")
        await harness.untilShown("ben was removed.")
        harness.write("/remove ben")
        await harness.untilShown("ben is not in this room.")
        await confirm("/leave", asking: "Leave “Trip”?")
        await harness.untilShown("You have left the group.")
        harness.press(.escape)
        await harness.untilShown { $0.contains("› Plans") && !$0.contains("Trip") }
        await harness.quit()
    }

    @Test("a direct room has no people to change, as the server says")
    func direct() async throws {
        await enter("Plans")
        harness.write("/add cleo")
        await harness.untilShown("The two people of a direct room never change.")
        harness.write("/remove cleo")
        await harness.untilShown("cleo is not in this room.")
        await harness.quit()
    }

    @Test("of many people a row names two, and counts the others")
    func row() async throws {
        let others = (1...4).map { harness.server.addPerson("guest\($0)").id }
        try harness.server.makeGroup(by: harness.ada.id, with: [harness.ben.id] + others, name: "Trip")
        await harness.untilShown("› Trip  ben, guest1 +3, 0 elements")
        await harness.quit()
    }
}
