import Testing

@testable import ParlorWorkers

@Suite("A fair queue")
struct FairQueueTests {
    private let start = ContinuousClock.now
    private static let limits = FairPool.Limits(
        inFlightOfNetwork: 1, waitingOfAddress: 3, waitingOfNetwork: 5, waiting: 8)

    private func party(_ network: String, _ host: Int = 1) -> Party {
        Party(network: network, address: "\(network).\(host)")
    }

    /// Adds a job by that name, and returns the job that is refused for it, or in its place.
    private func add(
        _ job: String, of party: Party?, to queue: inout FairQueue<String>, within time: Duration = .seconds(4)
    ) -> String? {
        queue.add(.init(job: job, party: party, deadline: start + time))?.job
    }

    /// Runs one job after the other to its end.
    private func drain(_ queue: inout FairQueue<String>) -> [String] {
        var done: [String] = []
        while let next = queue.next(at: start, needing: .zero).job {
            done.append(next.job)
            queue.finished(next.party)
        }
        return done
    }

    @Test("networks take turns, and a network's addresses, each in its order of arrival")
    func turns() {
        var queue = FairQueue<String>(Self.limits)
        for job in ["a1", "a2", "a3"] { #expect(add(job, of: party("a"), to: &queue) == nil) }
        for job in ["A1", "A2"] { #expect(add(job, of: party("a", 2), to: &queue) == nil) }
        for job in ["b1", "b2"] { #expect(add(job, of: party("b"), to: &queue) == nil) }
        #expect(drain(&queue) == ["a1", "b1", "A1", "b2", "a2", "A2", "a3"])
    }

    @Test("a newcomer precedes all that had a turn, however many of them wait")
    func newcomer() {
        var queue = FairQueue<String>(Self.limits)
        for network in ["a", "b", "c"] {
            for n in 1...2 { #expect(add("\(network)\(n)", of: party(network), to: &queue) == nil) }
        }
        for _ in 1...3 { queue.finished(queue.next(at: start, needing: .zero).job?.party) }
        #expect(add("new", of: party("d"), to: &queue) == nil)
        #expect(drain(&queue).first == "new")
    }

    @Test("a network has a limit in progress, so that a place is left to others")
    func inFlight() {
        var queue = FairQueue<String>(Self.limits)
        _ = add("a1", of: party("a"), to: &queue)
        _ = add("a2", of: party("a", 2), to: &queue)
        let first = queue.next(at: start, needing: .zero).job
        #expect(first?.job == "a1")
        #expect(queue.next(at: start, needing: .zero).job == nil)
        _ = add("b1", of: party("b"), to: &queue)
        #expect(queue.next(at: start, needing: .zero).job?.job == "b1")
        queue.finished(first?.party)
        #expect(queue.next(at: start, needing: .zero).job?.job == "a2")
    }

    @Test("an address over its share is refused, and others are not")
    func share() {
        var queue = FairQueue<String>(Self.limits)
        for n in 1...3 { #expect(add("a\(n)", of: party("a"), to: &queue) == nil) }
        #expect(queue.refusal(of: party("a")) == .share)
        #expect(add("a4", of: party("a"), to: &queue) == "a4")
        for n in 1...2 { #expect(add("A\(n)", of: party("a", 2), to: &queue) == nil) }
        // The network is full: its heaviest address makes room for a new one, until each has about as much.
        #expect(add("x1", of: party("a", 3), to: &queue) == "a3")
        #expect(add("x2", of: party("a", 3), to: &queue) == "x2")
        #expect(queue.refusal(of: party("b")) == nil)
    }

    @Test("a newcomer to a full queue evicts the latest job of the party with most, but no party's only one")
    func full() {
        var queue = FairQueue<String>(Self.limits)
        for host in 1...2 { for n in 1...2 { _ = add("a\(host)\(n)", of: party("a", host), to: &queue) } }
        for network in ["b", "c", "d", "e"] { _ = add(network, of: party(network), to: &queue) }
        #expect(queue.waiting.count == Self.limits.waiting)
        #expect(add("f", of: party("f"), to: &queue) == "a22")
        #expect(add("g", of: party("g"), to: &queue) == "a21")
        #expect(add("h", of: party("h"), to: &queue) == "a12")
        #expect(queue.refusal(of: party("i")) == .busy)
        #expect(add("i", of: party("i"), to: &queue) == "i")
        #expect(queue.waiting.count == Self.limits.waiting)
    }

    @Test("work that can no longer be done in time is given up, and not begun")
    func late() {
        var queue = FairQueue<String>(Self.limits)
        _ = add("short", of: party("a"), to: &queue, within: .seconds(1))
        _ = add("long", of: party("b"), to: &queue, within: .seconds(4))
        let (job, late) = queue.next(at: start + .milliseconds(800), needing: .milliseconds(300))
        #expect(late == ["short"])
        #expect(job?.job == "long")
        #expect(queue.waiting.isEmpty)
    }

    @Test("uncounted work waits in order, up to all places")
    func uncounted() {
        var queue = FairQueue<String>(Self.limits)
        for n in 1...8 { #expect(add("\(n)", of: nil, to: &queue) == nil) }
        #expect(add("9", of: nil, to: &queue) == "9")
        #expect(queue.next(at: start, needing: .zero).job?.job == "1")
        #expect(queue.next(at: start, needing: .zero).job?.job == "2")
    }

    @Test("the record of past turns is bounded")
    func memory() {
        var queue = FairQueue<String>(Self.limits)
        for n in 0..<20_000 {
            _ = add("x", of: party("n\(n)"), to: &queue)
            queue.finished(queue.next(at: start, needing: .zero).job?.party)
        }
        #expect(queue.rememberedTurns <= 4096)
        _ = add("old", of: party("n19999"), to: &queue)
        _ = add("new", of: party("m"), to: &queue)
        #expect(drain(&queue) == ["new", "old"])
    }
}
