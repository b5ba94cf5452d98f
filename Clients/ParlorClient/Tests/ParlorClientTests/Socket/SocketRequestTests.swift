import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("RoomsSocket: requests", .timeLimit(.minutes(1)))
struct SocketRequestTests {
    @Test("acks reach their callers in any order")
    func order() async throws {
        let harness = try SocketHarness()
        let connection = await harness.connected()
        let first = Task { try await harness.socket.emit("a", ["n": .integer(1)]) }
        #expect(await connection.received() == #"420["a",{"n":1}]"#)
        let second = Task { try await harness.socket.emit("b", ["n": .integer(2)]) }
        #expect(await connection.received() == #"421["b",{"n":2}]"#)
        await connection.sends(#"431[{"success":true,"n":2}]"#)
        await connection.sends(#"430[{"success":true,"n":1}]"#)
        #expect(try await first.value == Data(#"{"success":true,"n":1}"#.utf8))
        #expect(try await second.value == Data(#"{"success":true,"n":2}"#.utf8))
        await harness.socket.stop()
    }

    @Test("a refusal in an ack is thrown, and says whether to retry")
    func refused() async throws {
        let harness = try SocketHarness()
        let connection = await harness.connected()
        let asked = Task { try await harness.socket.emit("a", [:]) }
        _ = await connection.received()
        await connection.sends(
            #"430[{"success":false,"error":{"code":"service_unavailable","message":"No.","retryable":true}}]"#)
        let refusal = Refusal(code: "service_unavailable", message: "No.", isRetryable: true)
        await #expect(throws: ClientFailure.refused(refusal)) { try await asked.value }
        await harness.socket.stop()
    }

    @Test("a late ack, an ended connection and a missing one are offline errors")
    func offline() async throws {
        let harness = try SocketHarness()
        await #expect(throws: ClientFailure.offline("not connected")) { try await harness.socket.emit("a", [:]) }
        let connection = await harness.connected()
        let late = Task { try await harness.socket.emit("a", [:], timeout: .seconds(3)) }
        _ = await connection.received()
        await harness.clock.wake(.seconds(3))
        await #expect(throws: ClientFailure.offline("a was not answered in time")) { try await late.value }
        // No request waits for this late ack, so it is ignored.
        await connection.sends(#"430[{"success":true}]"#)
        let lost = Task { try await harness.socket.emit("b", [:]) }
        _ = await connection.received()
        await connection.drop()
        await #expect(throws: ClientFailure.offline("dropped")) { try await lost.value }
        await harness.socket.stop()
    }

    @Test("a cancelled caller stops waiting")
    func cancelled() async throws {
        let harness = try SocketHarness()
        let connection = await harness.connected()
        let asked = Task { try await harness.socket.emit("a", [:]) }
        _ = await connection.received()
        asked.cancel()
        await #expect(throws: CancellationError.self) { try await asked.value }
        await harness.socket.stop()
    }

    private func ack(_ id: Int) -> String { #"43\#(id)[{"success":true,"room":\#(DecodingTests.room)}]"# }

    @Test("joined rooms are joined again after a reconnect, left ones are not")
    func rejoins() async throws {
        let harness = try SocketHarness()
        let first = await harness.connected()
        for (id, room) in ["a", "b", "c"].enumerated() {
            let joined = Task { try await harness.socket.join(room) }
            #expect(await first.received() == #"42\#(id)["room:join",{"keepOthers":true,"roomId":"\#(room)"}]"#)
            await first.sends(ack(id))
            let described = try await joined.value
            #expect(described.id == "r1")
            #expect(await harness.received.next() == .joined(described))
        }
        let left = Task { try await harness.socket.leave("b") }
        #expect(await first.received() == #"423["room:leave",{"roomId":"b"}]"#)
        await first.sends(#"433[{"success":true}]"#)
        try await left.value
        await first.drop()
        let second = await harness.reconnected()
        #expect(await second.received() == #"420["room:join",{"keepOthers":true,"roomId":"a"}]"#)
        await second.sends(ack(0))
        #expect(await second.received() == #"421["room:join",{"keepOthers":true,"roomId":"c"}]"#)
        await second.sends(ack(1))
        await harness.socket.stop()
    }

    @Test("a room joined without a connection is joined on the next one")
    func wanted() async throws {
        let harness = try SocketHarness()
        await #expect(throws: ClientFailure.self) { try await harness.socket.join("a") }
        await harness.socket.start()
        let connection = await harness.server.accepted()
        #expect(await connection.received() == #"420["room:join",{"keepOthers":true,"roomId":"a"}]"#)
        await harness.socket.stop()
    }

    @Test("a join that fails temporarily is retried; one that is refused permanently is not")
    func failedJoins() async throws {
        let harness = try SocketHarness()
        let connection = await harness.connected()
        let gone = Task { try await harness.socket.join("gone") }
        _ = await connection.received()
        await connection.sends(
            #"430[{"success":false,"error":{"code":"room_not_found","message":"No.","retryable":false}}]"#)
        await #expect(throws: ClientFailure.self) { try await gone.value }
        let later = Task { try await harness.socket.join("later") }
        #expect(await connection.received() == #"421["room:join",{"keepOthers":true,"roomId":"later"}]"#)
        let busy = #"[{"success":false,"error":{"code":"rate_limited","message":"No.","retryable":true}}]"#
        await connection.sends("431" + busy)
        await #expect(throws: ClientFailure.self) { try await later.value }
        #expect(await connection.received() == #"422["room:join",{"keepOthers":true,"roomId":"later"}]"#)
        await connection.sends("432" + busy)
        await harness.clock.wake(.milliseconds(250))
        #expect(await connection.received() == #"423["room:join",{"keepOthers":true,"roomId":"later"}]"#)
        await connection.sends(ack(3))
        await harness.socket.stop()
    }

    @Test("a room is joined even after a stop and a start while connecting")
    func stoppedWhileConnecting() async throws {
        let harness = try SocketHarness()
        await #expect(throws: ClientFailure.self) { try await harness.socket.join("a") }
        let join = #"420["room:join",{"keepOthers":true,"roomId":"a"}]"#
        let gate = Gate()
        harness.received.gate = gate
        await harness.socket.start()
        let first = await harness.server.accepted()
        #expect(await first.received() == join)
        await gate.isReached()
        // These events fill the queue, so the next `add` waits.
        for _ in 1..<SocketUpdateQueue.capacity {
            await first.sends("room:cleared", #"{"roomId":"r","clearedBy":"u"}"#)
        }
        await first.drop()
        await harness.clock.wake(.milliseconds(250))
        _ = await harness.server.accepted()
        await lookUntil { await harness.socket.isConnected }
        await harness.socket.stop()
        await harness.socket.start()
        await gate.open()
        while await harness.received.next() != .disconnected(ClientFailure.stopped) {}
        // The updates that are left of the earlier run come before the next connection.
        await TestClock.settle()
        let third = await harness.server.accepted()
        #expect(await third.received() == join)
        await harness.socket.stop()
    }
}
