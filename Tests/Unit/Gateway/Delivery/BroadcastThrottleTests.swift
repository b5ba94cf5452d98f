import GatewayTesting
import ParlorJSON
import ParlorReactor
import ParlorSocketIO
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorDelivery

@Suite("Throttling broadcasts", .timeLimit(.minutes(1)))
struct BroadcastThrottleTests {
    /// A number of sockets, with the packet count of each batch to them, and the sockets that get it.
    private final class Receivers: BroadcastReceivers, Sendable {
        let everyone: [Int]
        let batches = Arrivals<Int>()
        let parts = Arrivals<[Int]>()

        init(_ count: Int) { everyone = Array(0..<count) }

        func send(_ batch: OutgoingBatch, to receivers: ArraySlice<Int>) {
            batches.add(batch.packets.count)
            parts.add(Array(receivers))
        }
    }

    /// A throttle on a loop; the test sets what is busy.
    private final class Side: Sendable {
        final class Busy: Sendable { let flag = Atomic(false) }

        let loop: TestLoop
        let receivers: Receivers
        let busy = Busy()
        private let throttle: LoopBound<BroadcastThrottle<Receivers>>

        init(_ loop: TestLoop, sockets: Int, _ pacing: BroadcastPacing) async {
            self.loop = loop
            let receivers = Receivers(sockets)
            self.receivers = receivers
            throttle = await loop.run { [loop = loop.loop, busy] in
                LoopBound(
                    BroadcastThrottle(on: loop, to: receivers, pacing) { busy.flag.load(ordering: .relaxed) }, to: loop)
            }
        }

        func run(_ body: @escaping @Sendable (BroadcastThrottle<Receivers>) -> Void) async {
            await loop.run { [throttle] in body(throttle.object) }
        }

        /// Expects the packet counts of the next batches.
        func expect(_ counts: [Int], sourceLocation: SourceLocation = #_sourceLocation) async throws {
            let found = try await receivers.batches.next(counts.count)
            #expect(found == counts, sourceLocation: sourceLocation)
        }

        /// Broadcasts an event, and these in the pause that follows.
        func broadcastBeforePause(with count: Int) async {
            await run { [loop = loop.loop] throttle in
                throttle.broadcast(.event("n", []))
                loop.atEndOfTurn { for _ in 0..<count { throttle.broadcast(.event("n", [])) } }
            }
        }

        /// Returns once the pause has begun: its timer was due earlier than this one.
        func untilPausing() async {
            await withCheckedContinuation { continuation in
                loop.loop.execute { [loop = loop.loop] in
                    loop.schedule(after: .milliseconds(1)) { continuation.resume() }
                }
            }
        }

        func broadcast(_ count: Int = 1, bytes: Int = 1) async {
            await run { throttle in
                for _ in 0..<count {
                    throttle.broadcast(.event("n", [JSONValue(String(repeating: "x", count: bytes))]))
                }
            }
        }
    }

    private static func pacing(threshold: Int = 0, quietPeriod: Duration = .seconds(3600)) -> BroadcastPacing {
        var pacing = BroadcastPacing()
        (pacing.threshold, pacing.minimumPause, pacing.maximumPause) = (threshold, .seconds(3600), .seconds(3600))
        pacing.quietPeriod = quietPeriod
        return pacing
    }

    private func run(sockets: Int = 1, _ pacing: BroadcastPacing, _ test: (Side) async throws -> Void) async throws {
        try await TestLoop.run { try await test(await Side($0, sockets: sockets, pacing)) }
    }

    @Test("with few sockets each event is sent at once")
    func few() async throws {
        try await run(sockets: 5, Self.pacing(threshold: 5)) { side in
            await side.broadcast(3)
            try await side.expect([1, 1, 1])
        }
    }

    @Test("with many sockets a turn's events are sent together, and those during the pause wait")
    func many() async throws {
        try await run(sockets: 6, Self.pacing(threshold: 5)) { side in
            await side.run { $0.noteVisit() }
            await side.broadcast(3)
            try await side.expect([3])
            await side.broadcast(2)
            await side.broadcast(2)
            // The sockets are about to be closed: all that waits goes out, and then each at once.
            await side.run { $0.end() }
            await side.broadcast()
            try await side.expect([4, 1])
        }
    }

    @Test("a broadcast over the byte limit is sent despite the pause")
    func bytes() async throws {
        try await run(Self.pacing()) { side in
            await side.run { $0.noteVisit() }
            await side.broadcast()
            try await side.expect([1])
            await side.broadcast(2)
            await side.broadcast(bytes: 70_000)
            try await side.expect([3])
            await side.broadcast()
            await side.broadcast(bytes: 70_000)
            try await side.expect([2])
        }
    }

    @Test("without recent visits the pause ends when the loop is idle, or when all work is done")
    func quiet() async throws {
        try await run(Self.pacing(quietPeriod: .zero)) { side in
            for _ in 1...20 {
                await side.broadcast()
                try await side.expect([1])
            }
        }
    }

    @Test("the pause lasts while work is in progress, and ends with it")
    func busy() async throws {
        var pacing = Self.pacing(quietPeriod: .zero)
        (pacing.earlyEndFactor, pacing.idleEndFactor) = (0, 1e9)
        try await run(pacing) { side in
            side.busy.flag.store(true, ordering: .relaxed)
            await side.broadcast()
            try await side.expect([1])
            await side.broadcast(2)
            await side.broadcast(2)
            side.busy.flag.store(false, ordering: .relaxed)
            // Asked again, as the pause may not have begun yet: it does once the output of the turn is written.
            let asking = Task {
                while !Task.isCancelled { await side.run { $0.endPauseIfAllIsDone() } }
            }
            let batch = try await side.receivers.batches.next()
            asking.cancel()
            await asking.value
            #expect(batch == 4)
        }
    }

    @Test("a turn that writes to half of the sockets anyway sends what is pending, and its own events")
    func shared() async throws {
        try await run(sockets: 6, Self.pacing(threshold: 2)) { side in
            await side.run { $0.noteVisit() }
            await side.broadcastBeforePause(with: 2)
            try await side.expect([1])
            await side.untilPausing()
            await side.run { throttle in
                throttle.noteWrites(to: 2)
                throttle.broadcast(.event("n", []))
            }
            await side.run { throttle in
                throttle.noteWrites(to: 3)
                throttle.broadcast(.event("n", []))
            }
            try await side.expect([4])
        }
    }

    @Test("a broadcast is written in parts, one in each turn, and other work comes between them")
    func parts() async throws {
        var pacing = Self.pacing(threshold: 4)
        pacing.part = 2...2
        try await run(sockets: 5, pacing) { side in
            await side.run { [loop = side.loop.loop, parts = side.receivers.parts] throttle in
                throttle.broadcast(.event("n", []))
                func noteTurns(_ left: Int) {
                    parts.add([])
                    if left > 1 { loop.inNextTurn { noteTurns(left - 1) } }
                }
                noteTurns(4)
            }
            let seen = try await side.receivers.parts.next(7)
            #expect(seen.filter { !$0.isEmpty } == [[0, 1], [2, 3], [4]])
            let (first, last) = (seen.firstIndex(of: [0, 1]) ?? 0, seen.firstIndex(of: [4]) ?? 0)
            #expect(seen[first...last].contains([]))
        }
    }

    @Test(
        "what must not wait comes after the rest of a broadcast, for each socket", arguments: ["bytes", "wide", "end"])
    func restFirst(cause: String) async throws {
        var pacing = Self.pacing(threshold: 2)
        pacing.part = 2...2
        try await run(sockets: 5, pacing) { side in
            await side.run { [loop = side.loop.loop] throttle in
                throttle.broadcast(.event("n", []))
                // The first part is sent at the end of this turn, before this.
                loop.atEndOfTurn {
                    throttle.broadcast(.event("n", []))
                    switch cause {
                    case "bytes": throttle.broadcast(.event("n", [JSONValue(String(repeating: "x", count: 270_000))]))
                    case "wide": throttle.noteWrites(to: 3)
                    default: throttle.end()
                    }
                }
            }
            let first = try await side.receivers.parts.next(2)
            #expect(first == [[0, 1], [2, 3, 4]])
            guard cause != "wide" else { return }
            let second = try await side.receivers.parts.next()
            #expect(second == [0, 1, 2, 3, 4])
        }
    }

    @Test("after a long broadcast the pause does not end early, whatever is done or idle")
    func longBroadcast() async throws {
        var pacing = Self.pacing(quietPeriod: .zero)
        (pacing.longBroadcast, pacing.longEndFactor) = (.zero, 1e9)
        try await run(pacing) { side in
            await side.broadcast()
            try await side.expect([1])
            await side.broadcast(2)
            for _ in 1...20 { await side.run { $0.endPauseIfAllIsDone() } }
            await side.run { $0.end() }
            try await side.expect([2])
        }
    }

    @Test("a pause has the bounds of the pacing")
    func shortPause() async throws {
        var pacing = BroadcastPacing()
        (pacing.threshold, pacing.minimumPause, pacing.maximumPause) = (0, .milliseconds(1), .milliseconds(1))
        pacing.quietPeriod = .seconds(3600)
        try await run(pacing) { side in
            await side.run { $0.noteVisit() }
            var count = 0
            for _ in 1...50 { await side.broadcast() }
            while count < 50 { count += try await side.receivers.batches.next() }
            #expect(count == 50)
        }
    }
}
