import Foundation
import Observation
import ParlorClient
import ParlorClientTesting
import Testing

@Suite("RoomCountManager", .timeLimit(.minutes(1))) @MainActor
struct RoomCountManagerTests {
    private let clock = TestClock()
    private let manager: RoomCountManager

    init() async {
        manager = RoomCountManager(for: "me", clock: clock)
        manager.load([Given.room("r")])
        await clock.untilSleeping(1)
        await clock.advance(by: RoomCountManager.interval)
    }

    @Test("the first change is shown at once, and later ones together after 100 ms")
    func coalescing() async {
        manager.apply(Given.newGlobal("m01"))
        await clock.untilSleeping(1)
        #expect(manager["r"].unreadMessages == 1)
        for number in 2...50 { manager.apply(Given.newGlobal("m\(10 + number)")) }
        await clock.advance(by: .milliseconds(99))
        #expect(manager["r"].unreadMessages == 1)
        #expect(manager.latest(of: "r")?.unreadMessages == 50)
        await clock.advance(by: .milliseconds(1))
        #expect(manager["r"].unreadMessages == 50)
        #expect(manager.unreadMessages == 50)
    }

    @Test("a change without effect causes no notification")
    func quiet() async {
        let received = Received()
        withObservationTracking {
            _ = manager.rooms
        } onChange: {
            Task { await received.note() }
        }
        manager.apply(Given.newGlobal("m1", in: "foreign"))
        manager.apply(Given.newGlobal("m1", from: "me"))
        await clock.advance(by: .seconds(1))
        #expect(await received.count == 0)
    }

    @Test("events may arrive on any thread")
    func threads() async {
        let ids = (0..<8).map { "r\($0)" }
        manager.load(ids.map { Given.room($0) })
        await withTaskGroup(of: Void.self) { group in
            for id in ids {
                group.addTask { [manager] in
                    for number in 100..<300 { manager.apply(Given.newGlobal("m\(number)", in: id)) }
                }
            }
        }
        #expect(ids.allSatisfy { manager.latest(of: $0)?.unreadMessages == 200 })
        await clock.advance(by: .seconds(1))
        #expect(manager.unreadMessages == 1600)
    }

    @Test("a forgotten room is no longer shown")
    func forgetting() async {
        manager.forget("r")
        await clock.advance(by: .seconds(1))
        #expect(manager.rooms.isEmpty)
    }

    private actor Received {
        private(set) var count = 0
        func note() { count += 1 }
    }
}
