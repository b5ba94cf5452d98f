import Testing

@testable import GatewayPresence

@Suite("What is known of other gateways")
struct GatewayPeersTests {
    private let open = Presence.Entry(kind: .presence, member: .init(roomID: "r", userID: "ada"))
    private let typing = Presence.Entry(kind: .typing, member: .init(roomID: "r", userID: "bob"))

    private func peers(_ number: Int? = nil) -> GatewayPeers {
        var peers = GatewayPeers()
        _ = peers.heard(from: "g")
        guard let number else { return peers }
        peers.said(number, by: "g")
        peers.snapshotBegins(of: "g", knowing: [])
        _ = peers.snapshotEnds(of: "g")
        return peers
    }

    @Test("a gateway is dead after its silent turns, is named once, and is new when it speaks again")
    func death() {
        var peers = peers()
        for _ in 1..<GatewayPeers.maxSilentTurns { #expect(peers.countTurn() == []) }
        _ = peers.heard(from: "g")
        for _ in 1..<GatewayPeers.maxSilentTurns { #expect(peers.countTurn() == []) }
        #expect(peers.countTurn() == ["g"])
        #expect(peers.countTurn() == [])
        #expect(peers.heard(from: "g") == true)
    }

    @Test("one that was asked is given a beat to answer, then asked again")
    func asking() {
        var peers = peers()
        peers.isAnswering("g")
        #expect(peers.heard(from: "g") == false)
        #expect(peers.takeUnknown() == [])
        #expect(peers.takeUnknown() == ["g"])
    }

    @Test("one of whom nothing was missed is not asked; a number that is left out, or told as the last, is something")
    func missing() {
        var whole = peers(4)
        whole.said(5, by: "g")
        whole.hasSaid(5, by: "g")
        #expect(whole.takeUnknown() == [])
        var gap = whole
        gap.said(7, by: "g")
        #expect(gap.takeUnknown() == ["g"])
        whole.hasSaid(6, by: "g")
        #expect(whole.takeUnknown() == ["g"])
    }

    @Test("what a snapshot leaves out is held no more, but for what was said since it began")
    func snapshot() {
        var peers = peers(1)
        peers.said(2, by: "g")
        peers.snapshotBegins(of: "g", knowing: [open, typing])
        peers.said(3, by: "g")
        peers.confirm(typing, of: "g")
        #expect(peers.snapshotEnds(of: "g") == [open])
        #expect(peers.snapshotEnds(of: "g") == [])
    }

    @Test("a snapshot of which a part was missed says nothing of what it leaves out, and another one is asked for")
    func brokenSnapshot() {
        var peers = peers(1)
        peers.said(2, by: "g")
        peers.snapshotBegins(of: "g", knowing: [open])
        peers.said(4, by: "g")
        #expect(peers.snapshotEnds(of: "g") == [])
        #expect(peers.takeUnknown() == ["g"])
    }
}
