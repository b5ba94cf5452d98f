import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorGatewayLimits

@Suite("A person's concurrent requests")
struct RequestSlotsTests {
    private let slots = RequestSlots(isOn: true, maxPerPerson: 3, maxHeavyPerPerson: 1)

    private func enterHeavy(_ person: String = "ada") async -> RequestSlots.Slot? {
        await slots.enterHeavy(person) { _ in }
    }

    @Test("each person has a number of slots, and a request that ends frees one")
    func light() {
        var held = (1...3).map { _ in slots.enter("ada") }
        #expect(held.allSatisfy { $0 != nil })
        #expect(slots.enter("ada") == nil)
        let bob = slots.enter("bob")
        #expect(bob != nil)
        held.removeLast()
        #expect(slots.enter("ada") != nil)
        held = []
        withExtendedLifetime(bob) { #expect(slots.count == 1, "people without requests are removed") }
    }

    @Test("heavy requests wait in order of arrival, and do not block others'")
    func heavy() async throws {
        let entered = Arrivals<Int>()
        let waiting = Arrivals<Int>()
        var first = await enterHeavy()
        #expect(first != nil)
        let tasks = Mutex<[Task<Void, Never>]>([])
        for number in 1...2 {
            let task = Task {
                let slot = await slots.enterHeavy("ada") { waiting.add($0) }
                entered.add(slot == nil ? -number : number)
                withExtendedLifetime(slot) {}
            }
            tasks.withLock { $0.append(task) }
            _ = try await waiting.next()
        }
        let bob = await enterHeavy("bob")
        #expect(bob != nil)
        first = nil
        #expect(try await entered.next(2) == [1, 2])
        for task in tasks.withLock({ $0 }) { await task.value }
    }

    @Test("a cancelled wait gets no slot, and takes none")
    func givenUp() async {
        let first = await enterHeavy()
        let slots = slots
        let late = await slots.enterHeavy("ada") { id in slots.giveUp(id, of: "ada") }
        #expect(late == nil)
        withExtendedLifetime(first) {}
    }

    @Test("without limits requests are not counted")
    func off() async {
        let off = RequestSlots(isOn: false, maxPerPerson: 1, maxHeavyPerPerson: 1)
        let held = (1...5).map { _ in off.enter("ada") }
        #expect(held.allSatisfy { $0 != nil } && off.count == 0)
        let one = await off.enterHeavy("ada") { _ in }
        let other = await off.enterHeavy("ada") { _ in }
        #expect(one != nil && other != nil)
    }
}
