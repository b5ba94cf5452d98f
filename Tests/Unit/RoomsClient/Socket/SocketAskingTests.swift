import Foundation
import RoomsClientTesting
import Testing

@testable import RoomsClient

@MainActor
@Suite("RoomsSocket: asking", .timeLimit(.minutes(1)))
struct SocketAskingTests {
    @Test("acks find who asked, in whatever order they come")
    func order() async throws {
        let world = try SocketWorld()
        let connection = await world.connected()
        let first = Task { try await world.socket.emit("a", ["n": .integer(1)]) }
        #expect(await connection.heard() == #"420["a",{"n":1}]"#)
        let second = Task { try await world.socket.emit("b", ["n": .integer(2)]) }
        #expect(await connection.heard() == #"421["b",{"n":2}]"#)
        await connection.says(#"431[{"success":true,"n":2}]"#)
        await connection.says(#"430[{"success":true,"n":1}]"#)
        #expect(try await first.value == Data(#"{"success":true,"n":1}"#.utf8))
        #expect(try await second.value == Data(#"{"success":true,"n":2}"#.utf8))
        await world.socket.stop()
    }

    @Test("a refusal in an ack is thrown, with whether it may be tried again")
    func refused() async throws {
        let world = try SocketWorld()
        let connection = await world.connected()
        let asked = Task { try await world.socket.emit("a", [:]) }
        _ = await connection.heard()
        await connection.says(
            #"430[{"success":false,"error":{"code":"service_unavailable","message":"No.","retryable":true}}]"#)
        let refusal = Refusal(code: "service_unavailable", message: "No.", isRetryable: true)
        await #expect(throws: ClientFailure.refused(refusal)) { try await asked.value }
        await world.socket.stop()
    }

    @Test("no ack in time, a connection that ends, and none at all are offline")
    func offline() async throws {
        let world = try SocketWorld()
        await #expect(throws: ClientFailure.offline("not connected")) { try await world.socket.emit("a", [:]) }
        let connection = await world.connected()
        let late = Task { try await world.socket.emit("a", [:], timeout: .seconds(3)) }
        _ = await connection.heard()
        await world.clock.wake(.seconds(3))
        await #expect(throws: ClientFailure.offline("a was not answered in time")) { try await late.value }
        // The ack that comes too late is nobody's.
        await connection.says(#"430[{"success":true}]"#)
        let lost = Task { try await world.socket.emit("b", [:]) }
        _ = await connection.heard()
        await connection.drop()
        await #expect(throws: ClientFailure.offline("dropped")) { try await lost.value }
        await world.socket.stop()
    }

    @Test("one who asks and is cancelled waits no longer")
    func cancelled() async throws {
        let world = try SocketWorld()
        let connection = await world.connected()
        let asked = Task { try await world.socket.emit("a", [:]) }
        _ = await connection.heard()
        asked.cancel()
        await #expect(throws: CancellationError.self) { try await asked.value }
        await world.socket.stop()
    }

    private func ack(_ id: Int) -> String { #"43\#(id)[{"success":true,"room":\#(DecodingTests.room)}]"# }

    @Test("rooms that were joined are joined again, beside each other; those that were left are not")
    func rejoins() async throws {
        let world = try SocketWorld()
        let first = await world.connected()
        for (id, room) in ["a", "b", "c"].enumerated() {
            let joined = Task { try await world.socket.join(room, keepingOthers: true) }
            #expect(await first.heard() == #"42\#(id)["room:join",{"keepOthers":true,"roomId":"\#(room)"}]"#)
            await first.says(ack(id))
            #expect(try await joined.value.id == "r1")
        }
        let left = Task { try await world.socket.leave("b") }
        #expect(await first.heard() == #"423["room:leave",{"roomId":"b"}]"#)
        await first.says(#"433[{"success":true}]"#)
        try await left.value
        await first.drop()
        await world.clock.wake(.milliseconds(250))
        let second = await world.server.accepted(since: "c1")
        #expect(await second.heard() == #"420["room:join",{"keepOthers":true,"roomId":"a"}]"#)
        await second.says(ack(0))
        #expect(await second.heard() == #"421["room:join",{"keepOthers":true,"roomId":"c"}]"#)
        await second.says(ack(1))
        await world.socket.stop()
    }

    @Test("a room that is wanted without a connection is joined with the next one")
    func wanted() async throws {
        let world = try SocketWorld()
        await #expect(throws: ClientFailure.self) { try await world.socket.join("a") }
        await world.socket.start()
        let connection = await world.server.accepted()
        #expect(await connection.heard() == #"420["room:join",{"keepOthers":true,"roomId":"a"}]"#)
        await world.socket.stop()
    }

    @Test("a join that failed for now is tried again; one that was refused for good is not")
    func failedJoins() async throws {
        let world = try SocketWorld()
        let connection = await world.connected()
        let gone = Task { try await world.socket.join("gone") }
        _ = await connection.heard()
        await connection.says(
            #"430[{"success":false,"error":{"code":"room_not_found","message":"No.","retryable":false}}]"#)
        await #expect(throws: ClientFailure.self) { try await gone.value }
        let later = Task { try await world.socket.join("later", keepingOthers: true) }
        #expect(await connection.heard() == #"421["room:join",{"keepOthers":true,"roomId":"later"}]"#)
        let busy = #"[{"success":false,"error":{"code":"rate_limited","message":"No.","retryable":true}}]"#
        await connection.says("431" + busy)
        await #expect(throws: ClientFailure.self) { try await later.value }
        #expect(await connection.heard() == #"422["room:join",{"keepOthers":true,"roomId":"later"}]"#)
        await connection.says("432" + busy)
        await world.clock.wake(.milliseconds(250))
        #expect(await connection.heard() == #"423["room:join",{"keepOthers":true,"roomId":"later"}]"#)
        await connection.says(ack(3))
        await world.socket.stop()
    }

    @Test("a room is joined again also after a stop and a start in the moment of connecting")
    func stoppedWhileConnecting() async throws {
        let world = try SocketWorld()
        await #expect(throws: ClientFailure.self) { try await world.socket.join("a") }
        let join = #"420["room:join",{"keepOthers":true,"roomId":"a"}]"#
        let gate = Gate()
        world.told.gate = gate
        await world.socket.start()
        let first = await world.server.accepted()
        #expect(await first.heard() == join)
        await gate.isReached()
        // With its end, the queue is full, and who comes then waits.
        for _ in 1..<SocketUpdateQueue.capacity { await first.says("room:cleared", #"{"roomId":"r","clearedBy":"u"}"#) }
        await first.drop()
        await world.clock.wake(.milliseconds(250))
        _ = await world.server.accepted()
        await lookUntil { await world.socket.isConnected }
        await world.socket.stop()
        await world.socket.start()
        await gate.open()
        while await world.told.next() != .disconnected(RoomsSocket.stopped) {}
        // What the earlier run still has to say, it says before the next connection.
        await TestClock.settle()
        let third = await world.server.accepted()
        #expect(await third.heard() == join)
        await world.socket.stop()
    }
}
