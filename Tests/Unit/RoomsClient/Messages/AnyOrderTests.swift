import Foundation
import RoomsClientTesting
import Testing

@testable import RoomsClient

/// Whatever the network, the server and the end of the app do in any order, the room ends in the
/// server's state: in its order, without duplicates and losses.
///
/// A seed determines what is typed and what the network does, but not the order in which the system
/// runs tasks: run alone, by `ANY_ORDER_SEED`, it may behave otherwise than among the others.
@MainActor
@Suite("Messages in any order", .timeLimit(.minutes(5)))
struct AnyOrderTests {
    /// Side by side, for what each waits for.
    private static let lanes: UInt64 = 8

    @Test("the messages of 1,000 seeds end in the server's order, without duplicates and losses")
    func anyOrder() async {
        if let only = ProcessInfo.processInfo.environment["ANY_ORDER_SEED"].flatMap(UInt64.init) {
            return await Self.run(only)
        }
        let lanes = (1...Self.lanes).map { lane in
            Task { for seed in stride(from: lane, through: 1_000, by: Int(Self.lanes)) { await Self.run(seed) } }
        }
        for lane in lanes { await lane.value }
    }

    private static func run(_ seed: UInt64) async {
        let run = RandomRun(seed: seed)
        await run.go()
        let faults = await run.faultsAtTheEnd()
        #expect(faults.isEmpty, "ANY_ORDER_SEED=\(seed)")
        await run.end()
    }
}
