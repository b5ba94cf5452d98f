import GatewayTesting
import ParlorContracts
import Testing

@testable import ParlorDelivery

@Suite("Acks that wait for their event")
struct PendingAcksTests {
    private func position(_ logID: LogID, _ seq: Int) -> EntryPosition { EntryPosition(log: logID, seq: seq) }

    @Test("a start releases those up to its position, and the end of a log all of its own, in their order")
    func startAndEnd() async throws {
        try await TestLoop.run { loop in
            let ids = await loop.run { () -> [[Int]] in
                let acks = PendingAcks(on: loop.loop, log: .silent)
                let positions: [(LogID, Int)] = [("chat", 0), ("chat", 1), ("chat", 9), ("chat", 5), ("notes", 1)]
                for position in positions {
                    acks.hold({}, until: self.position(position.0, position.1), for: .seconds(3600))
                }
                var released = [acks.reach(self.position("chat", 1)), acks.end("chat"), acks.end("chat")]
                if acks.hasReached(self.position("chat", 1)) { released.append([]) }
                released.append(acks.reach(self.position("notes", 1)))
                for ack in released.joined() { ack.release() }
                return released.map { $0.map(\.id) }
            }
            #expect(ids == [[1, 2], [4, 3], [], [5]])
        }
    }
}
