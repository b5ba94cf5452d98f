import Foundation
import Testing

@testable import RoomsClient

@MainActor
@Suite("RoomsSocket", .timeLimit(.minutes(1)))
struct RoomsSocketTests {
    private let read = #"{"roomId":"r","userId":"u","isPresent":true}"#
    private let present = SocketUpdate.event(.presence(roomID: "r", userID: "u", isPresent: true))
    private let cleared = SocketUpdate.event(.roomCleared(roomID: "r", clearedBy: "u"))

    @Test("comes back from the last cursor, and tells what was missed before it tells that it has recovered")
    func resumes() async throws {
        let world = try SocketWorld()
        let first = await world.connected()
        await first.says("room:presence", read)
        #expect(await world.told.next() == present)
        await first.drop()
        #expect(await world.told.next() == .disconnected(.offline("dropped")))
        await world.clock.wake(.milliseconds(250))

        let second = await world.server.accepted(since: "c1")
        await second.says("room:cleared", #"{"roomId":"r","clearedBy":"u"}"#)
        await second.synchronises(true, cursor: "c2")
        await second.says("room:presence", read)
        #expect(await world.told.next() == .connected)
        #expect(await world.told.next() == cleared)
        #expect(await world.told.next() == .recovered(true))
        #expect(await world.told.next() == present)
        await second.drop()
        await world.clock.wake(.milliseconds(500))
        _ = await world.server.accepted(since: "c2")
        await world.socket.stop()
    }

    @Test("a cursor counts from sync:done on, and not before")
    func lostWhileCatchingUp() async throws {
        let world = try SocketWorld()
        await world.connected().drop()
        await world.clock.wake(.milliseconds(250))
        let second = await world.server.accepted(since: "c1")
        await second.says("room:presence", read)
        await second.drop()
        await world.clock.wake(.milliseconds(500))
        _ = await world.server.accepted(since: "c1")
        await world.socket.stop()
    }

    @Test("a room that could not be caught up with later is told, with its cursor")
    func laterSync() async throws {
        let world = try SocketWorld()
        let first = await world.connected()
        await first.synchronises(false, cursor: "c7")
        #expect(await world.told.next() == .recovered(false))
        await first.drop()
        await world.clock.wake(.milliseconds(250))
        _ = await world.server.accepted(since: "c7")
        await world.socket.stop()
    }

    @Test("a server that knows no recovery is one that has lost what was missed")
    func olderServer() async throws {
        let world = try SocketWorld()
        _ = await world.admitted()
        await world.clock.wake(RoomsSocket.syncTimeout)
        #expect(await world.told.next() == .recovered(false))
        await world.socket.stop()
    }

    @Test("a replay that takes long is not taken for none, as long as something comes")
    func slowReplay() async throws {
        let world = try SocketWorld()
        let connection = await world.admitted()
        for _ in 0..<4 { await world.passTalkatively(connection) }
        await connection.synchronises(true, cursor: "c1")
        #expect(await world.told.next() == .recovered(true))
        await world.socket.stop()
    }

    @Test("a server that knows no recovery, and always has something to tell, is found out all the same")
    func busyOlderServer() async throws {
        let world = try SocketWorld()
        let connection = await world.admitted()
        for _ in 0..<6 { await world.passTalkatively(connection) }
        #expect(await world.told.next() == .recovered(false))
        await world.socket.stop()
    }

    @Test("pings and acks are no replay")
    func silentOlderServer() async throws {
        let world = try SocketWorld()
        let connection = await world.admitted()
        await world.clock.untilSleeping(for: RoomsSocket.syncTimeout)
        await world.clock.advance(by: .seconds(15))
        await connection.says("2")
        #expect(await connection.heard() == "3")
        await world.clock.advance(by: .seconds(5))
        #expect(await world.told.next() == .recovered(false))
        await world.socket.stop()
    }

    @Test("answers pings, and gives a silent server up")
    func heartbeat() async throws {
        let world = try SocketWorld()
        let connection = await world.connected()
        await connection.says("2")
        #expect(await connection.heard() == "3")
        await world.clock.wake(.seconds(45))
        #expect(await world.told.next() == .disconnected(.offline("the server has fallen silent")))
        await connection.isClosed()
        await world.clock.wake(.milliseconds(250))
        _ = await world.server.accepted(since: "c1")
        await world.socket.stop()
    }

    @Test("a server that never says its handshake is given up")
    func noHandshake() async throws {
        let world = try SocketWorld()
        await world.socket.start()
        _ = await world.server.connection()
        await world.clock.wake(RoomsSocket.handshakeTimeout)
        #expect(await world.told.next() == .disconnected(.offline("the server has fallen silent")))
        await world.socket.stop()
    }

    @Test("pauses double, the first failure alone is told, and reconnectNow waits for none")
    func pauses() async throws {
        let failures = (0..<4).map { ClientFailure.offline("no \($0)") }
        let world = try SocketWorld(failures: failures)
        await world.socket.start()
        #expect(await world.told.next() == .disconnected(.offline("no 0")))
        await world.clock.wake(.milliseconds(250))
        await world.clock.wake(.milliseconds(500))
        await world.clock.wake(.seconds(1))
        await world.clock.untilSleeping(for: .seconds(2))
        await world.socket.reconnectNow()
        _ = await world.server.accepted()
        #expect(await world.told.next() == .connected)
        #expect(await world.server.attempts == 5)
        await world.socket.stop()
    }

    @Test("a token that is refused is replaced once, on the same connection")
    func replacesToken() async throws {
        let world = try SocketWorld(replacements: [.success("t2")])
        await world.socket.start()
        let connection = await world.server.connection()
        await connection.opens()
        #expect(await connection.heard() == #"40{"since":"none","token":"t1"}"#)
        await connection.says(#"44{"message":"unauthorized","data":{"code":"unauthenticated"}}"#)
        #expect(await connection.heard() == #"40{"since":"none","token":"t2"}"#)
        await connection.says(#"40{"sid":"s"}"#)
        #expect(await world.told.next() == .connected)
        #expect(await world.tokens.refused == ["t1"])
        await world.socket.stop()
    }

    @Test("a second refusal signs out, and it does not come back by itself")
    func signedOut() async throws {
        let world = try SocketWorld(replacements: [.success("t2")])
        await world.socket.start()
        let connection = await world.server.connection()
        await connection.opens()
        for _ in 0..<2 {
            _ = await connection.heard()
            await connection.says(#"44{"message":"unauthorized","data":{"code":"unauthenticated"}}"#)
        }
        #expect(await world.told.next() == .disconnected(.signedOut))
        await connection.isClosed()
        #expect(await world.server.attempts == 1)
    }

    @Test("one whom the server sends away stays away until it is started again")
    func dismissed() async throws {
        let world = try SocketWorld()
        let first = await world.connected()
        await first.says("41")
        #expect(await world.told.next() == .disconnected(SocketLink.dismissal))
        await first.isClosed()
        _ = await world.admitted(since: "c1")
        await world.socket.stop()
    }

    @Test("whoever is told of the end may start it again, or stop it, then and there")
    func fromTheHandler() async throws {
        let world = try SocketWorld()
        world.told.onTelling = { update in
            if update == .disconnected(SocketLink.dismissal) { await world.socket.start() }
            if update == .recovered(true) { await world.socket.stop() }
        }
        let first = await world.connected()
        await first.says("41")
        #expect(await world.told.next() == .disconnected(SocketLink.dismissal))
        let second = await world.server.accepted(since: "c1")
        await second.synchronises(true, cursor: "c2")
        #expect(await world.told.next() == .connected)
        #expect(await world.told.next() == .recovered(true))
        #expect(await world.told.next() == .disconnected(RoomsSocket.stopped))
    }

    @Test("what had arrived before stop is told, then the end; a later start catches up")
    func stops() async throws {
        let world = try SocketWorld()
        let first = await world.connected()
        await first.says("room:presence", read)
        #expect(await world.told.next() == present)
        await world.socket.stop()
        await world.socket.stop()
        #expect(await world.told.next() == .disconnected(RoomsSocket.stopped))
        await first.isClosed()
        _ = await world.admitted(since: "c1")
        await world.socket.stop()
    }

    @Test("events wait for whoever is told of them, acks and pings do not, and reading stops when enough wait")
    func backpressure() async throws {
        let world = try SocketWorld()
        let connection = await world.connected()
        let gate = Gate()
        world.told.gate = gate
        await connection.says("room:presence", read)
        await gate.isReached()
        for _ in 0..<SocketUpdateQueue.capacity { await connection.says("room:presence", read) }
        let asked = Task { try await world.socket.emit("a", [:]) }
        #expect(await connection.heard() == #"420["a",{}]"#)
        await connection.says(#"430[{"success":true}]"#)
        await connection.says("2")
        #expect(try await asked.value == Data(#"{"success":true}"#.utf8))
        #expect(await connection.heard() == "3")
        await gate.open()
        for _ in 0..<(SocketUpdateQueue.capacity + 1) { #expect(await world.told.next() == present) }
        await world.socket.stop()
    }

    @Test("it tells that it connects when it is started, and not when it runs already")
    func connecting() async throws {
        let world = try SocketWorld(failures: [.offline("no")])
        world.told.tellsConnecting = true
        await world.socket.start()
        #expect(await world.told.next() == .connecting)
        #expect(await world.told.next() == .disconnected(.offline("no")))
        await world.socket.start()
        await world.socket.reconnectNow()
        _ = await world.server.accepted()
        #expect(await world.told.next() == .connected)
        await world.socket.stop()
    }

    @Test("a connection that takes nothing more is ended, and who asked is told")
    func deaf() async throws {
        let world = try SocketWorld()
        let connection = await world.connected()
        let gate = Gate()
        await connection.holdSends(gate)
        let asked = Task { try await world.socket.emit("a", [:]) }
        await gate.isReached()
        // It still reads.
        await connection.says("2")
        await connection.says("room:presence", read)
        #expect(await world.told.next() == present)
        await world.clock.wake(SocketLink.sendTimeout)
        let failure = ClientFailure.offline("the server does not read")
        await #expect(throws: failure) { try await asked.value }
        #expect(await world.told.next() == .disconnected(failure))
        await connection.isClosed()
        await gate.open()
        await world.socket.stop()
    }
}
