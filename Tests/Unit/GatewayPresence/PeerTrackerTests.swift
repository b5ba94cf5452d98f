import Testing

@testable import ParlorGatewayPresence

@Suite("What a gateway knows of others")
struct PeerTrackerTests {
    private let open = Presence.Entry(kind: .presence, member: RoomMember(roomID: "r", userID: "ada"))
    private let typing = Presence.Entry(kind: .typing, member: RoomMember(roomID: "r", userID: "bob"))

    /// - Parameter number: the last number of a gateway in sync; nil for a new gateway.
    private func tracker(_ number: Int? = nil) -> PeerTracker {
        var tracker = PeerTracker()
        _ = tracker.note("g")
        guard let number else { return tracker }
        tracker.advance("g", to: number)
        tracker.beginSnapshot(of: "g", known: [])
        _ = tracker.endSnapshot(of: "g")
        return tracker
    }

    @Test("a gateway is new until its state is known or it answers, and again after it was removed")
    func new() {
        var tracker = tracker()
        #expect(tracker.note("g") == true)
        tracker.advance("g", to: 1)
        #expect(tracker.note("g") == false)
        tracker.remove("g")
        #expect(tracker.note("g") == true)
    }

    @Test("a gateway that was asked has one heartbeat's time to answer, and is then asked again")
    func asking() {
        var tracker = tracker()
        tracker.noteAnswering("g")
        #expect(tracker.note("g") == false)
        #expect(tracker.takeOutOfSync() == [])
        #expect(tracker.takeOutOfSync() == ["g"])
    }

    @Test(
        "a gateway with nothing missing is not asked; a skipped number, or a higher last one, means something is missing"
    )
    func missing() {
        var whole = tracker(4)
        whole.advance("g", to: 5)
        whole.confirmLast(5, of: "g")
        #expect(whole.takeOutOfSync() == [])
        var gap = whole
        gap.advance("g", to: 7)
        #expect(gap.takeOutOfSync() == ["g"])
        whole.confirmLast(6, of: "g")
        #expect(whole.takeOutOfSync() == ["g"])
    }

    @Test("a snapshot ends ownership of what it leaves out, except what was published since it began")
    func snapshot() {
        var tracker = tracker(1)
        tracker.advance("g", to: 2)
        tracker.beginSnapshot(of: "g", known: [open, typing])
        tracker.advance("g", to: 3)
        tracker.confirm(typing, of: "g")
        #expect(tracker.endSnapshot(of: "g") == [open])
        #expect(tracker.endSnapshot(of: "g") == [])
    }

    @Test("an incomplete snapshot removes nothing, and another one is requested")
    func brokenSnapshot() {
        var tracker = tracker(1)
        tracker.advance("g", to: 2)
        tracker.beginSnapshot(of: "g", known: [open])
        tracker.advance("g", to: 4)
        #expect(tracker.endSnapshot(of: "g") == [])
        #expect(tracker.takeOutOfSync() == ["g"])
    }
}
