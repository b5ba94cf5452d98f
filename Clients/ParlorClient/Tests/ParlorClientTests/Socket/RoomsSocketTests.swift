import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("RoomsSocket", .timeLimit(.minutes(1)))
struct RoomsSocketTests {
    private let read = #"{"roomId":"r","userId":"u","isPresent":true}"#
    private let present = SocketUpdate.event(.presence(roomID: "r", userID: "u", isPresent: true))
    private let cleared = SocketUpdate.event(.roomCleared(roomID: "r", clearedBy: "u"))

    @Test("it reconnects from the last cursor, and delivers missed events before it reports the recovery")
    func resumes() async throws {
        let harness = try SocketHarness()
        let first = await harness.connected()
        await first.sends("room:presence", read)
        #expect(await harness.received.next() == present)
        await first.drop()
        #expect(await harness.received.next() == .disconnected(.offline("dropped")))
        await harness.clock.wake(.milliseconds(250))

        let second = await harness.server.accepted(since: "c1")
        await second.sends("room:cleared", #"{"roomId":"r","clearedBy":"u"}"#)
        await second.synchronises(true, cursor: "c2")
        await second.sends("room:presence", read)
        #expect(await harness.received.next() == .connected)
        #expect(await harness.received.next() == cleared)
        #expect(await harness.received.next() == .recovered(true))
        #expect(await harness.received.next() == present)
        await second.drop()
        await harness.reconnected(after: .milliseconds(500), since: "c2")
        await harness.socket.stop()
    }

    @Test("a cursor is used only after sync:done")
    func lostWhileCatchingUp() async throws {
        let harness = try SocketHarness()
        await harness.connected().drop()
        let second = await harness.reconnected()
        await second.sends("room:presence", read)
        await second.drop()
        await harness.reconnected(after: .milliseconds(500))
        await harness.socket.stop()
    }

    @Test("a connection has no cursor before its own sync:done, also when that is no longer expected")
    func ownCursor() async throws {
        let harness = try SocketHarness()
        let first = await harness.connected()
        #expect(await harness.socket.connectionCursor == "c1")
        await first.drop()
        #expect(await harness.received.next() != .connected)
        let second = await harness.reconnected()
        #expect(await harness.received.next() == .connected)
        #expect(await harness.socket.connectionCursor == nil)
        await harness.clock.wake(SyncWait.timeout)
        #expect(await harness.received.next() == .recovered(false))
        #expect(await harness.socket.connectionCursor == nil)
        await second.synchronises(true, cursor: "c2")
        #expect(await harness.received.next() == .recovered(true))
        #expect(await harness.socket.connectionCursor == "c2")
        await harness.socket.stop()
    }

    @Test("a later failure to recover a room is reported, and its cursor is used")
    func laterSync() async throws {
        let harness = try SocketHarness()
        let first = await harness.connected()
        await first.synchronises(false, cursor: "c7")
        #expect(await harness.received.next() == .recovered(false))
        await first.drop()
        await harness.reconnected(since: "c7")
        await harness.socket.stop()
    }

    @Test("a server without recovery counts as one that lost the missed events")
    func olderServer() async throws {
        let harness = try SocketHarness()
        _ = await harness.admitted()
        await harness.clock.wake(SyncWait.timeout)
        #expect(await harness.received.next() == .recovered(false))
        await harness.socket.stop()
    }

    @Test("a replay may take long, as long as events arrive")
    func slowReplay() async throws {
        let harness = try SocketHarness()
        let connection = await harness.admitted()
        for _ in 0..<4 { await harness.passWithEvent(connection) }
        await connection.synchronises(true, cursor: "c1")
        #expect(await harness.received.next() == .recovered(true))
        await harness.socket.stop()
    }

    @Test("a server without recovery is detected, even if it always sends events")
    func busyOlderServer() async throws {
        let harness = try SocketHarness()
        let connection = await harness.admitted()
        for _ in 0..<6 { await harness.passWithEvent(connection) }
        #expect(await harness.received.next() == .recovered(false))
        await harness.socket.stop()
    }

    @Test("pings and acks do not count as a replay")
    func silentOlderServer() async throws {
        let harness = try SocketHarness()
        let connection = await harness.admitted()
        await harness.clock.untilSleeping(for: SyncWait.timeout)
        await harness.clock.advance(by: .seconds(15))
        await connection.sends("2")
        #expect(await connection.received() == "3")
        await harness.clock.advance(by: .seconds(5))
        #expect(await harness.received.next() == .recovered(false))
        await harness.socket.stop()
    }

    @Test("it answers pings, and drops a silent server")
    func heartbeat() async throws {
        let harness = try SocketHarness()
        let connection = await harness.connected()
        await connection.sends("2")
        #expect(await connection.received() == "3")
        await harness.clock.wake(.seconds(45))
        #expect(await harness.received.next() == .disconnected(.offline("the server has fallen silent")))
        await connection.isClosed()
        await harness.reconnected()
        await harness.socket.stop()
    }

    @Test("a server that never sends its handshake is dropped")
    func noHandshake() async throws {
        let harness = try SocketHarness()
        await harness.socket.start()
        _ = await harness.server.connection()
        await harness.clock.wake(SocketOpening.handshakeTimeout)
        #expect(await harness.received.next() == .disconnected(.offline("the server has fallen silent")))
        await harness.socket.stop()
    }

    @Test("pauses double, only the first failure is reported, and reconnectNow skips a pause")
    func pauses() async throws {
        let failures = (0..<4).map { ClientFailure.offline("no \($0)") }
        let harness = try SocketHarness(failures: failures)
        await harness.socket.start()
        #expect(await harness.received.next() == .disconnected(.offline("no 0")))
        await harness.clock.wake(.milliseconds(250))
        await harness.clock.wake(.milliseconds(500))
        await harness.clock.wake(.seconds(1))
        await harness.clock.untilSleeping(for: .seconds(2))
        await harness.socket.reconnectNow()
        _ = await harness.server.accepted()
        #expect(await harness.received.next() == .connected)
        #expect(await harness.server.attempts == 5)
        await harness.socket.stop()
    }

    @Test("a refused token is replaced once, on the same connection")
    func replacesToken() async throws {
        let harness = try SocketHarness(replacements: [.success("t2")])
        await harness.socket.start()
        let connection = await harness.server.connection()
        await connection.opens()
        #expect(await connection.received() == #"40{"since":"none","token":"t1"}"#)
        await connection.sends(#"44{"message":"unauthorized","data":{"code":"unauthenticated"}}"#)
        #expect(await connection.received() == #"40{"since":"none","token":"t2"}"#)
        await connection.sends(#"40{"sid":"s"}"#)
        #expect(await harness.received.next() == .connected)
        #expect(await harness.tokens.refused == ["t1"])
        await harness.socket.stop()
    }

    @Test("a second refusal signs out, and the socket does not reconnect by itself")
    func signedOut() async throws {
        let harness = try SocketHarness(replacements: [.success("t2")])
        await harness.socket.start()
        let connection = await harness.server.connection()
        await connection.opens()
        for _ in 0..<2 {
            _ = await connection.received()
            await connection.sends(#"44{"message":"unauthorized","data":{"code":"unauthenticated"}}"#)
        }
        #expect(await harness.received.next() == .disconnected(.signedOut))
        await connection.isClosed()
        #expect(await harness.server.attempts == 1)
    }

    @Test("a client that the server dismisses stays offline until it is started again")
    func dismissed() async throws {
        let harness = try SocketHarness(replacements: [.success("t1")])
        let first = await harness.connected()
        await first.sends("41")
        #expect(await harness.received.next() == .disconnected(SocketLink.dismissal))
        await first.isClosed()
        _ = await harness.admitted(since: "c1")
        await harness.socket.stop()
    }

    @Test("if the server dismisses a client because its session has ended, nobody is signed in")
    func dismissedAtSessionEnd() async throws {
        let harness = try SocketHarness(replacements: [.failure(.signedOut)])
        let connection = await harness.connected()
        await connection.sends("41")
        #expect(await harness.received.next() == .disconnected(.signedOut))
        #expect(await harness.tokens.refused == ["t1"])
    }

    @Test("a start while the reason of a dismissal is sought is not forgotten", arguments: [false, true])
    func startDuringDismissal(isStopped: Bool) async throws {
        let harness = try SocketHarness(replacements: [.success("t1")])
        await harness.tokens.before { [socket = harness.socket] in
            await socket.start()
            if isStopped { await socket.stop() }
        }
        let first = await harness.connected()
        await first.sends("41")
        if isStopped {
            #expect(await harness.received.next() == .disconnected(ClientFailure.stopped))
            await first.isClosed()
            #expect(await harness.server.attempts == 1)
        } else {
            #expect(await harness.received.next() == .disconnected(SocketLink.dismissal))
            _ = await harness.server.accepted(since: "c1")
            #expect(await harness.received.next() == .connected)
            await harness.socket.stop()
        }
    }

    @Test("a dismissal refuses no request: those in progress fail as with any lost connection")
    func dismissedWhileAsking() async throws {
        let harness = try SocketHarness(replacements: [.success("t1")])
        let connection = await harness.connected()
        let answer = Task { try await harness.socket.emit("message:send", [:]) }
        _ = await connection.received()
        await connection.sends("41")
        let failure = await #expect(throws: ClientFailure.self) { try await answer.value }
        #expect(failure?.isRetryable == true)
    }

    @Test("a start while nobody is signed in makes no attempt, and reports none")
    func startWithoutSession() async throws {
        let received = Received()
        received.reportsConnecting = true
        let tokens = try SessionTokens(keptIn: MemorySessionStore(), accounts: AccountsAPI(transport: ScriptedHTTP([])))
        let socket = RoomsSocket(
            server: try #require(URL(string: "https://chat.example/")), transport: FakeSockets(), tokens: tokens,
            clock: TestClock(), deliver: { [received] in await received.take($0.update) })
        await socket.start()
        #expect(await received.next() == .disconnected(.signedOut))
    }

    @Test("the handler may start or stop the socket at once")
    func fromTheHandler() async throws {
        let harness = try SocketHarness(replacements: [.success("t1")])
        harness.received.onBroadcast = { update in
            if update == .disconnected(SocketLink.dismissal) { await harness.socket.start() }
            if update == .recovered(true) { await harness.socket.stop() }
        }
        let first = await harness.connected()
        await first.sends("41")
        #expect(await harness.received.next() == .disconnected(SocketLink.dismissal))
        let second = await harness.server.accepted(since: "c1")
        await second.synchronises(true, cursor: "c2")
        #expect(await harness.received.next() == .connected)
        #expect(await harness.received.next() == .recovered(true))
        #expect(await harness.received.next() == .disconnected(ClientFailure.stopped))
    }

    @Test("updates that arrived before a stop are delivered, then the end; a later start catches up")
    func stops() async throws {
        let harness = try SocketHarness()
        let first = await harness.connected()
        await first.sends("room:presence", read)
        #expect(await harness.received.next() == present)
        await harness.socket.stop()
        await harness.socket.stop()
        #expect(await harness.received.next() == .disconnected(ClientFailure.stopped))
        await first.isClosed()
        _ = await harness.admitted(since: "c1")
        await harness.socket.stop()
    }

    @Test("events wait for the handler, acks and pings do not, and reading stops when the queue is full")
    func backpressure() async throws {
        let harness = try SocketHarness()
        let connection = await harness.connected()
        let gate = Gate()
        harness.received.gate = gate
        await connection.sends("room:presence", read)
        await gate.isReached()
        for _ in 0..<SocketUpdateQueue.capacity { await connection.sends("room:presence", read) }
        let asked = Task { try await harness.socket.emit("a", [:]) }
        #expect(await connection.received() == #"420["a",{}]"#)
        await connection.sends(#"430[{"success":true}]"#)
        await connection.sends("2")
        #expect(try await asked.value == Data(#"{"success":true}"#.utf8))
        #expect(await connection.received() == "3")
        await gate.open()
        for _ in 0..<(SocketUpdateQueue.capacity + 1) { #expect(await harness.received.next() == present) }
        await harness.socket.stop()
    }

    @Test("it reports connecting when it is started, but not if it is running")
    func connecting() async throws {
        let harness = try SocketHarness(failures: [.offline("no")])
        harness.received.reportsConnecting = true
        await harness.socket.start()
        #expect(await harness.received.next() == .connecting)
        #expect(await harness.received.next() == .disconnected(.offline("no")))
        await harness.socket.start()
        await harness.socket.reconnectNow()
        _ = await harness.server.accepted()
        #expect(await harness.received.next() == .connected)
        await harness.socket.stop()
    }

    @Test("a connection that accepts nothing more is ended, and the caller gets an error")
    func deaf() async throws {
        let harness = try SocketHarness()
        let connection = await harness.connected()
        let gate = Gate()
        await connection.holdSends(gate)
        let asked = Task { try await harness.socket.emit("a", [:]) }
        await gate.isReached()
        // The server does not read, but it still sends.
        await connection.sends("2")
        await connection.sends("room:presence", read)
        #expect(await harness.received.next() == present)
        await harness.clock.wake(SocketLink.sendTimeout)
        let failure = ClientFailure.offline("the server does not read")
        await #expect(throws: failure) { try await asked.value }
        #expect(await harness.received.next() == .disconnected(failure))
        await connection.isClosed()
        await gate.open()
        await harness.socket.stop()
    }
}
