import Foundation
import ParlorClient
import Testing

/// A server of sockets that the test controls.
actor FakeSockets: SocketTransport {
    private(set) var attempts = 0
    /// The failures of the next attempts. Later attempts succeed.
    private var failures: [ClientFailure]
    private var connections: [FakeConnection] = []
    private var waiter: CheckedContinuation<FakeConnection, Never>?

    init(failures: [ClientFailure] = []) { self.failures = failures }

    func connect(to url: URL) async throws -> any SocketConnection {
        #expect(url.absoluteString == "wss://chat.example/socket.io/?EIO=4&transport=websocket")
        attempts += 1
        if !failures.isEmpty { throw failures.removeFirst() }
        let connection = FakeConnection()
        if let waiter {
            self.waiter = nil
            waiter.resume(returning: connection)
        } else {
            connections.append(connection)
        }
        return connection
    }

    /// Waits for the client's next connection.
    func connection() async -> FakeConnection {
        if !connections.isEmpty { return connections.removeFirst() }
        return await withCheckedContinuation { waiter = $0 }
    }

    /// Waits for the client's next connection, and accepts it.
    func accepted(token: String = "t1", since cursor: String = "none") async -> FakeConnection {
        let connection = await connection()
        await connection.opens()
        #expect(await connection.received() == #"40{"since":"\#(cursor)","token":"\#(token)"}"#)
        await connection.sends(#"40{"sid":"s"}"#)
        return connection
    }
}

actor FakeConnection: SocketConnection {
    private var toClient: [String] = []
    private var receiver: CheckedContinuation<String, any Error>?
    private var fromClient: [String] = []
    private var sentWaiter: CheckedContinuation<String, Never>?
    private var isOver = false
    private var watchers: [CheckedContinuation<Void, Never>] = []
    /// A gate that each send waits for, once it is set.
    private var gate: Gate?

    func send(_ text: String) async throws {
        await gate?.pass()
        if isOver { throw ClientFailure.offline("dropped") }
        if let sentWaiter {
            self.sentWaiter = nil
            sentWaiter.resume(returning: text)
        } else {
            fromClient.append(text)
        }
    }

    func receive() async throws -> String {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<String, any Error>) in
                if !toClient.isEmpty {
                    continuation.resume(returning: toClient.removeFirst())
                } else if isOver {
                    continuation.resume(throwing: ClientFailure.offline("dropped"))
                } else {
                    receiver = continuation
                }
            }
        } onCancel: {
            close()
        }
    }

    nonisolated func close() { Task { await drop() } }

    // MARK: - The test's side

    func opens() { sends(#"0{"sid":"e","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":9}"#) }

    func sends(_ text: String) {
        if let receiver {
            self.receiver = nil
            receiver.resume(returning: text)
        } else {
            toClient.append(text)
        }
    }

    func sends(_ event: String, _ data: String) { sends(#"42["\#(event)",\#(data)]"#) }

    func synchronises(_ isRecovered: Bool, cursor: String) {
        sends("sync:done", #"{"recovered":\#(isRecovered),"cursor":"\#(cursor)"}"#)
    }

    /// Waits for the next text from the client.
    func received() async -> String {
        if !fromClient.isEmpty { return fromClient.removeFirst() }
        return await withCheckedContinuation { sentWaiter = $0 }
    }

    func holdSends(_ gate: Gate) { self.gate = gate }

    func drop() {
        isOver = true
        receiver?.resume(throwing: ClientFailure.offline("dropped"))
        receiver = nil
        for watcher in watchers { watcher.resume() }
        watchers = []
    }

    /// Waits until the client has closed the connection.
    func isClosed() async {
        if !isOver { await withCheckedContinuation { watchers.append($0) } }
    }
}

/// The updates that a socket delivered.
@MainActor
final class Received {
    private var updates: [SocketUpdate] = []
    private var waiter: CheckedContinuation<SocketUpdate, Never>?
    /// A gate that each delivery waits for, once it is set.
    var gate: Gate?
    var onBroadcast: (SocketUpdate) async -> Void = { _ in }

    /// True if `connecting` is delivered to the test; by default a test begins with `connected`.
    var reportsConnecting = false

    func take(_ update: SocketUpdate) async {
        if update == .connecting, !reportsConnecting { return }
        if let waiter {
            self.waiter = nil
            waiter.resume(returning: update)
        } else {
            updates.append(update)
        }
        await gate?.pass()
        await onBroadcast(update)
    }

    var isEmpty: Bool { updates.isEmpty }

    func next() async -> SocketUpdate {
        if !updates.isEmpty { return updates.removeFirst() }
        return await withCheckedContinuation { waiter = $0 }
    }
}
