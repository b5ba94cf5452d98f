import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("Typing")
struct TypingTests {
    let server = FakeMessageServer()
    let clock = TestClock(start: start)

    @Test("the first key sends typing at once, later keys at most once a second")
    func renewal() async {
        let signal = TypingSignal(roomID: "room", server: server, clock: clock)
        // The keystrokes are at 0, 0.3, … 2.7 seconds.
        for _ in 0..<10 {
            signal.typed()
            await clock.advance(by: .milliseconds(300))
        }
        #expect(await server.log == ["typing true", "typing true", "typing true"])
    }

    @Test("typing ends once, after two seconds without a key")
    func idle() async {
        let signal = TypingSignal(roomID: "room", server: server, clock: clock)
        signal.typed()
        await clock.advance(by: .milliseconds(900))
        signal.typed()
        await clock.advance(by: .milliseconds(1_999))
        #expect(await server.log == ["typing true"])
        await clock.advance(by: .milliseconds(1))
        #expect(await server.log == ["typing true", "typing false"])
        signal.stopped()
        await clock.advance(by: .seconds(5))
        #expect(await server.log == ["typing true", "typing false"])
    }

    @Test("a stop is sent at once, and a new start only a second after the last one")
    func stopped() async {
        let signal = TypingSignal(roomID: "room", server: server, clock: clock)
        signal.typed()
        await TestClock.settle()
        signal.stopped()
        await clock.advance(by: .milliseconds(900))
        signal.typed()
        await clock.advance(by: .milliseconds(100))
        #expect(await server.log == ["typing true", "typing false"])
        signal.typed()
        await TestClock.settle()
        #expect(await server.log == ["typing true", "typing false", "typing true"])
    }

    /// A clock that can be set back.
    private struct SetClock: ClientClock {
        let time = Guarded(start)

        var now: Date { time.withLock { $0 } }

        func set(back seconds: TimeInterval) { time.withLock { $0 = $0.addingTimeInterval(-seconds) } }

        func sleep(for duration: Duration) async throws { try await TestClock().sleep(for: duration) }
    }

    @Test("after the clock was set back, typing is still sent")
    func setBack() async {
        let clock = SetClock()
        let signal = TypingSignal(roomID: "room", server: server, clock: clock)
        signal.typed()
        _ = await server.log(atLeast: 1)
        clock.set(back: 3_600)
        signal.typed()
        #expect(await server.log(atLeast: 2) == ["typing true", "typing true"])
        signal.stopped()
    }

    @Test("others type until they stop or their message arrives; a repetition does not move them")
    func typists() {
        var typists = Typists(ownID: "me")
        for user in ["ann", "bo", "cy", "me", "ann"] { typists.note(user, isTyping: true) }
        #expect(typists.userIDs == ["ann", "bo", "cy"])
        typists.note("ann", isTyping: false)
        typists.end("cy")
        #expect(typists.userIDs == ["bo"])
    }
}
