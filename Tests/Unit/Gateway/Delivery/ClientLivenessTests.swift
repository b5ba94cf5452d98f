import ParlorReactor
import Testing

@testable import ParlorDelivery

@Suite("What a client is known to have received")
struct ClientLivenessTests {
    private func instant(_ seconds: UInt64) -> LoopInstant { LoopInstant(nanoseconds: seconds * 1_000_000_000) }

    @Test("a client that answers a ping has received what was sent before the ping, and not what came after")
    func confirmed() {
        var life = ClientLiveness(at: instant(1))
        #expect(life.confirmed(of: "messaging") == 0 && life.lastActiveAt == instant(1))
        life.notePing(after: ["messaging": 7])
        #expect(life.confirmed(of: "messaging") == 0, "it has not answered yet")
        life.noteAnswer(at: instant(2))
        #expect(life.confirmed(of: "messaging") == 7 && life.lastActiveAt == instant(2))
        life.notePing(after: ["messaging": 9, "elements": 3])
        life.noteEvent(at: instant(3))
        #expect(life.confirmed(of: "messaging") == 7 && life.lastActiveAt == instant(3), "an event is no answer")
        life.noteAnswer(at: instant(4))
        #expect(life.confirmed(of: "messaging") == 9 && life.confirmed(of: "elements") == 3)
    }

    @Test("a ping from before a join says nothing about the room")
    func join() {
        var life = ClientLiveness(at: instant(1))
        life.notePing(after: ["messaging": 7])
        life.noteAnswer(at: instant(2))
        life.notePing(after: ["messaging": 8])
        life.noteJoin()
        life.noteAnswer(at: instant(3))
        #expect(life.confirmed(of: "messaging") == 0 && life.lastActiveAt == instant(3))
    }
}
