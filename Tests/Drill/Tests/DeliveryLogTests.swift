import Testing

@testable import parlor_drill

@Suite("What a client received, compared with the log")
struct HearingTests {
    private func keys(_ numbers: [UInt64]) -> [EventKey] { numbers.map(EventKey.init(hash:)) }

    /// Judges a delivery log; 0 stands for a gap.
    private func verdict(_ received: [UInt64], of log: [UInt64]) -> DeliveryVerdict {
        var deliveryLog = DeliveryLog()
        for number in received {
            if number == 0 { deliveryLog.noteGap() } else { deliveryLog.receive(EventKey(hash: number)) }
        }
        var verdict = DeliveryVerdict(deliveryLog, of: keys(log))
        verdict.firstLost = []
        return verdict
    }

    private func expected(
        _ delivered: Int, lost: Int = 0, doubled: Int = 0, outOfOrder: Int = 0, unknown: Int = 0
    ) -> DeliveryVerdict {
        var verdict = DeliveryVerdict()
        verdict.delivered = delivered
        verdict.lost = lost
        verdict.doubled = doubled
        verdict.outOfOrder = outOfOrder
        verdict.unknown = unknown
        return verdict
    }

    @Test("events that arrive once and in order count as no fault")
    func clean() {
        #expect(verdict([], of: []) == expected(0))
        #expect(verdict([1, 2, 3], of: [1, 2, 3]) == expected(3))
    }

    @Test("an event in the log that was not received is lost: first, last and in between")
    func lost() {
        #expect(verdict([2], of: [1, 2, 3]) == expected(1, lost: 2))
        #expect(verdict([1, 3], of: [1, 2, 3]) == expected(2, lost: 1))
    }

    @Test("the report says where an event was lost")
    func order() {
        var deliveryLog = DeliveryLog()
        deliveryLog.receive(EventKey(hash: 2))
        #expect(DeliveryVerdict(deliveryLog, of: keys([1, 2, 3])).firstLost == [0, 2])
    }

    @Test("an event received again is doubled, also directly after itself and at the end")
    func doubled() {
        #expect(verdict([1, 1, 2], of: [1, 2]) == expected(2, doubled: 1))
        #expect(verdict([1, 2, 1], of: [1, 2]) == expected(2, doubled: 1))
    }

    @Test("an event that arrives after a later one is out of order, and not lost")
    func outOfOrder() { #expect(verdict([1, 3, 2], of: [1, 2, 3]) == expected(3, outOfOrder: 1)) }

    @Test("the event of a message that was deleted since is neither missed nor unknown")
    func deleted() {
        var received = DeliveryLog()
        for id in [1, 2, 3] as [UInt64] { received.receive(EventKey(hash: id), message: "\(id)") }
        received.receive(EventKey(hash: 4))
        #expect(DeliveryVerdict(received.leavingOut(["2", "4"]), of: keys([1, 3, 4])) == expected(3))
    }

    @Test("an event that no log has is unknown")
    func unknown() { #expect(verdict([1, 9], of: [1]) == expected(1, unknown: 1)) }

    @Test("two events with the same content are two events")
    func sameWords() {
        #expect(verdict([7, 1, 7], of: [7, 1, 7]) == expected(3))
        #expect(verdict([7, 1], of: [7, 1, 7]) == expected(2, lost: 1))
        #expect(verdict([7, 1, 7, 7], of: [7, 1, 7]) == expected(3, doubled: 1))
    }

    @Test("events within a declared gap are neither lost nor delivered, and the gap excuses nothing else")
    func gaps() {
        #expect(verdict([1, 0, 4, 5], of: [1, 2, 3, 4, 5]) == expected(3))
        #expect(verdict([1, 0, 4, 6], of: [1, 2, 3, 4, 5, 6]) == expected(3, lost: 1))
        #expect(verdict([1, 0], of: [1, 2]) == expected(1))
        #expect(verdict([1, 0, 1, 2], of: [1, 2]) == expected(2, doubled: 1))
        #expect(verdict([1, 0, 7, 4], of: [1, 7, 2, 3, 7, 4]) == expected(3))
        #expect(verdict([1, 0, 7], of: [1, 7, 2, 3, 7]) == expected(2))
    }
}
