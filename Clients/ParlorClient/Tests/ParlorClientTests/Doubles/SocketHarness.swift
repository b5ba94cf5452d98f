import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// A socket in an environment that the test controls.
@MainActor
struct SocketHarness {
    let server: FakeSockets
    let tokens: ListedTokens
    let clock = TestClock()
    let received = Received()
    let socket: RoomsSocket

    /// Makes a socket that is not started.
    ///
    /// - Parameter random: by default 0.5, so that pauses have other lengths than other sleeps.
    init(
        failures: [ClientFailure] = [], replacements: [Result<String, ClientFailure>] = [], random: Double = 0.5
    ) throws {
        server = FakeSockets(failures: failures)
        tokens = ListedTokens(replacements: replacements)
        let url = try #require(URL(string: "https://chat.example/"))
        socket = RoomsSocket(
            server: url, transport: server, tokens: tokens, clock: clock, random: { random },
            deliver: { [received] in await received.take($0.update) })
    }

    /// Starts and connects the socket.
    func admitted(since cursor: String = "none") async -> FakeConnection {
        await socket.start()
        let connection = await server.accepted(since: cursor)
        #expect(await received.next() == .connected)
        return connection
    }

    /// Lets the pause before the next attempt pass, and accepts the connection.
    @discardableResult
    func reconnected(after pause: Duration = .milliseconds(250), since cursor: String = "c1") async -> FakeConnection {
        await clock.wake(pause)
        return await server.accepted(since: cursor)
    }

    /// Starts and connects the socket, and sends `sync:done`.
    func connected(cursor: String = "c1") async -> FakeConnection {
        let connection = await admitted()
        await connection.synchronises(false, cursor: cursor)
        #expect(await received.next() == .recovered(false))
        return connection
    }

    /// Lets the 20 seconds pass after which a silent server counts as one without recovery, but sends an event within
    /// them.
    func passWithEvent(_ connection: FakeConnection) async {
        await clock.untilSleeping(for: SyncWait.timeout)
        #expect(received.isEmpty)
        await clock.advance(by: .seconds(15))
        await connection.sends("room:nothing", "{}")
        #expect(await received.next() == .event(.unknown(name: "room:nothing", data: [:])))
        await clock.advance(by: .seconds(5))
    }
}

extension TestClock {
    /// Waits until a task sleeps for this duration, and wakes it.
    func wake(_ length: Duration) async {
        await untilSleeping(for: length)
        await advance(by: length)
    }
}
