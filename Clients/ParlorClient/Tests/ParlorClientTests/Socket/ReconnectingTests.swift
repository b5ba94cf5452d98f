import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("RoomsSocket: reconnecting", .timeLimit(.minutes(1)))
struct ReconnectingTests {
    @Test("a connection that lasts two seconds resets the pauses; a shorter one does not")
    func goodConnection() async throws {
        let harness = try SocketHarness()
        await harness.connected().drop()
        let second = await harness.reconnected()
        await harness.clock.advance(by: .milliseconds(1900))
        await second.drop()
        let third = await harness.reconnected(after: .milliseconds(500))
        await harness.clock.advance(by: .seconds(2))
        await third.drop()
        await harness.reconnected()
        await harness.socket.stop()
    }

    @Test("after a skipped pause, the next reconnect has a pause")
    func hurryIsOver() async throws {
        let harness = try SocketHarness()
        await harness.socket.reconnectNow()
        let connection = await harness.connected()
        await connection.drop()
        await harness.reconnected()
        await harness.socket.stop()
    }

    @Test("pauses are a random part of a bound of at most thirty seconds; zero reconnects at once")
    func jitter() async throws {
        let failures = (0..<8).map { ClientFailure.offline("no \($0)") }
        let soon = try SocketHarness(failures: failures, random: 0)
        await soon.socket.start()
        _ = await soon.server.accepted()
        #expect(await soon.server.attempts == 9)
        await soon.socket.stop()

        let late = try SocketHarness(failures: failures, random: 0.75)
        await late.socket.start()
        for bound in [0.5, 1, 2, 4, 8, 16, 30, 30] { await late.clock.wake(.seconds(bound * 0.75)) }
        _ = await late.server.accepted()
        await late.socket.stop()
    }

    @Test("nothing is delivered after a stop, whenever it happens", arguments: 0..<30)
    func stopIsLast(turns: Int) async throws {
        let harness = try SocketHarness()
        let connection = await harness.connected()
        for number in 0..<10 { await connection.sends("room:left", #"{"roomId":"r\#(number)"}"#) }
        for _ in 0..<turns { await Task.yield() }
        await harness.socket.stop()
        for number in 0..<10 { await connection.sends("room:left", #"{"roomId":"late-\#(number)"}"#) }
        await connection.isClosed()
        var received: [SocketUpdate] = []
        repeat {
            received.append(await harness.received.next())
        } while received.last != .disconnected(ClientFailure.stopped)
        await TestClock.settle()
        #expect(harness.received.isEmpty, "and nothing after it")
    }

    @Test("reconnectNow drops a connection only if it was silent for longer than the ping interval")
    func stale() async throws {
        let harness = try SocketHarness()
        let first = await harness.connected()
        await harness.clock.advance(by: .seconds(29))
        await harness.socket.reconnectNow()
        #expect(await harness.socket.isConnected)
        await harness.clock.advance(by: .seconds(2))
        await harness.socket.reconnectNow()
        #expect(await harness.received.next() == .disconnected(.offline("the server has fallen silent")))
        await first.isClosed()
        _ = await harness.server.accepted(since: "c1")
        #expect(await harness.received.next() == .connected)
        await harness.socket.stop()
    }

    @Test("on a better network, a connection that does not answer is replaced at once")
    func deadOnBetterNetwork() async throws {
        let harness = try SocketHarness()
        let first = await harness.connected()
        let improving = Task { await harness.socket.useBetterNetwork() }
        #expect(await first.received() == #"420["room:leave",{"roomId":"none"}]"#)
        await harness.clock.wake(RoomsSocket.probeTimeout)
        await improving.value
        #expect(
            await harness.received.next() == .disconnected(.offline("the connection ended with its network")))
        await first.isClosed()
        // The clock stands still, so there was no pause.
        _ = await harness.server.accepted(since: "c1")
        #expect(await harness.received.next() == .connected)
        await harness.socket.stop()
    }

    @Test("on a better network, a connection that answers stays, even if it refuses", arguments: [false, true])
    func aliveOnBetterNetwork(refuses: Bool) async throws {
        let harness = try SocketHarness()
        let connection = await harness.connected()
        let improving = Task { await harness.socket.useBetterNetwork() }
        _ = await connection.received()
        let refusal = #"{"success":false,"error":{"code":"malformed_request","message":"No.","retryable":false}}"#
        await connection.sends(refuses ? "430[\(refusal)]" : #"430[{"success":true}]"#)
        await improving.value
        #expect(await harness.socket.isConnected)
        #expect(harness.received.isEmpty)
        await harness.socket.stop()
    }
}
