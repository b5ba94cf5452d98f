import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Checks that a room ends in the server's state, in its order and without duplicates and losses, whatever the order of
/// events on the network, on the server and in the app.
///
/// A seed determines what is typed and what the network does, but not the order in which the system runs tasks. So a
/// seed that runs alone may behave differently.
@MainActor
@Suite("Messages under random faults", .timeLimit(.minutes(5)))
struct AnyOrderTests {
    /// The number of seeds that run at the same time, because each of them mostly waits.
    private static let lanes = 8

    @Test("with any seed, messages end in the server's order, without duplicates and losses")
    func anyOrder() async {
        let seeds = Seeds.first(200)
        let lanes = (0..<Self.lanes).map { lane in
            Task {
                for seed in stride(from: seeds.lowerBound + lane, to: seeds.upperBound, by: Self.lanes) {
                    await Self.run(UInt64(seed))
                }
            }
        }
        for lane in lanes { await lane.value }
    }

    /// Compares the file of shared histories. `WRITE_INTERLEAVINGS=1 swift test --filter AnyOrderTests` writes it.
    @Test("the web client replays the histories of 96 seeds")
    func sharedHistories() throws {
        let file = URL(filePath: "interleavings.json", relativeTo: URL(filePath: #filePath))
        let histories = Interleaving.json(1...96)
        if ProcessInfo.processInfo.environment["WRITE_INTERLEAVINGS"] != nil {
            try Data(histories.utf8).write(to: file)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == histories)
    }

    private static func run(_ seed: UInt64) async {
        let run = RandomRun(seed: seed)
        await run.go()
        let faults = await run.faultsAtTheEnd()
        #expect(faults.isEmpty, "CLIENT_SEEDS=\(seed)-\(seed)")
        await run.end()
    }
}
