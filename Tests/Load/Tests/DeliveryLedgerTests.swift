import Testing

@testable import parlor_bench

@Suite("The benchmark's ledger of deliveries")
struct DeliveryLedgerTests {
    private func ledger(_ seqs: [Int]) -> DeliveryLedger {
        var ledger = DeliveryLedger()
        for seq in seqs { ledger.receive(seq) }
        return ledger
    }

    @Test("events delivered once and in order count as no fault, however many", arguments: [0, 1, 64, 65, 10_000])
    func clean(count: Int) {
        let ledger = ledger(Array(1..<count + 1))
        #expect(ledger.delivered == count)
        #expect(ledger.faults(sent: count) == [])
    }

    @Test("an acknowledged event that never arrives is lost, at the end as in between")
    func lost() {
        #expect(ledger([1, 2]).faults(sent: 3) == ["1 lost"])
        #expect(ledger([1, 3]).faults(sent: 3) == ["1 lost"])
        #expect(ledger([]).faults(sent: 5) == ["5 lost"])
    }

    @Test("an event that arrives again is doubled, and does not make up for a lost one")
    func doubled() {
        let ledger = ledger([1, 2, 2, 1, 1])
        #expect(ledger.delivered == 2 && ledger.doubled == 3)
        #expect(ledger.faults(sent: 3) == ["1 lost", "3 doubled"])
    }

    @Test("an event that arrives after a later one counts once as out of order, and not as lost")
    func outOfOrder() {
        #expect(ledger([1, 3, 2, 4]).faults(sent: 4) == ["1 out of order"])
        #expect(ledger([4, 3, 2, 1]).faults(sent: 4) == ["3 out of order"])
        #expect(ledger([500, 1]).faults(sent: 2) == ["1 out of order"])
    }

    @Test("an ack before its echo is a fault, and one after it is not")
    func echoes() {
        var ledger = DeliveryLedger()
        ledger.acknowledge(1)
        ledger.receive(1)
        ledger.receive(2)
        ledger.acknowledge(2)
        #expect(ledger.faults(sent: 2) == ["1 acknowledged before the echo"])
    }

    @Test("more deliveries than acknowledgements are reported as such, and not as a negative loss")
    func tooMany() {
        #expect(ledger([1, 2, 3]).faults(sent: 1) == ["2 never acknowledged"])
    }
}
