import Testing

@testable import ParlorServiceKit

@Suite("Leases of gateways")
struct GatewayLeasesTests {
    private func countTurns(_ count: Int, in leases: inout GatewayLeases) -> [String] {
        (0..<count).flatMap { _ in leases.countTurn() }
    }

    @Test("a lease ends after its silent turns, once, and a message renews it")
    func death() {
        var leases = GatewayLeases()
        let words = [leases.renew("a"), leases.renew("b"), leases.renew("a")]
        #expect(words == [.joined("a"), .joined("b"), nil])
        #expect(countTurns(GatewayLeases.maxSilentTurns - 1, in: &leases) == [])
        #expect(leases.renew("b") == nil)
        #expect(leases.countTurn() == ["a"])
        #expect(leases.alive == ["b"] && !leases.isAlive("a") && leases.isAlive("b"))
        #expect(countTurns(GatewayLeases.maxSilentTurns - 2, in: &leases) == [])
        #expect(countTurns(GatewayLeases.maxSilentTurns, in: &leases) == ["b"])
    }

    @Test("a dead gateway that sends again has returned, and may die again")
    func returning() {
        var leases = GatewayLeases()
        _ = leases.renew("a")
        #expect(countTurns(GatewayLeases.maxSilentTurns, in: &leases) == ["a"])
        let words = [leases.renew("a"), leases.renew("a")]
        #expect(words == [.returned("a"), nil] && leases.isAlive("a"))
        #expect(countTurns(GatewayLeases.maxSilentTurns, in: &leases) == ["a"])
    }

    @Test("an expected gateway has as long as one that sent; one with a lease is not set back")
    func expected() {
        var leases = GatewayLeases()
        leases.expect("a")
        leases.expect("b")
        #expect(leases.alive == ["a", "b"] && !leases.isAlive("unknown"))
        #expect(leases.renew("b") == .joined("b"))
        #expect(countTurns(GatewayLeases.maxSilentTurns - 1, in: &leases) == [])
        leases.expect("a")
        #expect(leases.countTurn() == ["a", "b"])
        leases.expect("a")
        #expect(!leases.isAlive("a"))
        #expect(leases.renew("a") == .returned("a"))
    }

    @Test("turns in which nothing could be received renew all leases, but not those that have ended")
    func deafTurns() {
        var leases = GatewayLeases()
        _ = leases.renew("dead")
        _ = countTurns(GatewayLeases.maxSilentTurns - 1, in: &leases)
        _ = leases.renew("alive")
        #expect(leases.countTurn() == ["dead"])
        _ = countTurns(GatewayLeases.maxSilentTurns - 2, in: &leases)
        leases.countDeafTurn()
        #expect(countTurns(GatewayLeases.maxSilentTurns - 1, in: &leases) == [])
        #expect(leases.alive == ["alive"])
        #expect(leases.countTurn() == ["alive"])
    }

    @Test("dead gateways are forgotten in the end: if they send again, they join")
    func forgotten() {
        var leases = GatewayLeases()
        _ = leases.renew("a")
        #expect(countTurns(GatewayLeases.maxRememberedTurns, in: &leases) == ["a"])
        #expect(leases.renew("a") == .joined("a"))
    }
}
