import Foundation
import ParlorClientTesting

@testable import ParlorClient

/// A process of an app that can be killed between any two steps: changes of files and of the session's store, and
/// requests and answers. After the kill, its steps have no effect, and the next process finds what was there then.
final class KillableApp: Sendable {
    struct Killed: Error {}

    private struct State: Sendable {
        /// The number of steps since `arm`.
        var steps = 0
        /// The step before which the process is killed; nil for none.
        var killAt: Int?
        var isArmed = false
        var isKilled = false
        var kept: KeptSessions
    }

    private let state: Guarded<State>
    private let network: ScriptedDevice
    /// The parent folder of the person's folder, in this process and after the kill.
    private let parent = TemporaryFolder(in: "/dev/shm")
    private let after = TemporaryFolder(in: "/dev/shm")

    /// Starts a process with what an earlier one has left.
    init(_ network: ScriptedDevice, kept: KeptSessions = KeptSessions(), files: URL? = nil) throws {
        self.network = network
        state = Guarded(State(kept: kept))
        guard let files else { return }
        try FileManager.default.removeItem(at: parent.url)
        try FileManager.default.copyItem(at: files, to: parent.url)
    }

    var folders: URL { parent.url }
    var folder: URL { parent.url.appending(path: "ada", directoryHint: .isDirectory) }
    var isKilled: Bool { state.withLock { $0.isKilled } }
    var steps: Int { state.withLock { $0.steps } }
    var kept: KeptSessions { state.withLock { $0.kept } }

    /// The parent folder as the next process finds it.
    var left: URL { isKilled ? after.url : parent.url }

    /// Counts steps from now on.
    ///
    /// - Parameter step: the step before which the process is killed, from 0.
    func arm(killedAt step: Int?) {
        state.withLock { state in (state.steps, state.killAt, state.isArmed) = (0, step, true) }
    }

    /// Begins a step.
    ///
    /// - Throws: `Killed` if the process is dead, or is killed now.
    private func step() throws {
        let isKilled = state.withLock { [parent, after] state in
            guard state.isArmed, !state.isKilled else { return state.isKilled }
            if state.steps == state.killAt {
                // Nothing else of this process may have an effect before the copy, so the lock is held.
                state.isKilled = true
                try? FileManager.default.removeItem(at: after.url)  // it is not there at a second try
                // Another thread may be changing the files at this moment, as in a real kill.
                for _ in 0..<5 {
                    do {
                        try FileManager.default.copyItem(at: parent.url, to: after.url)
                        break
                    } catch {
                        try? FileManager.default.removeItem(at: after.url)
                    }
                }
            }
            state.steps += 1
            return state.isKilled
        }
        if isKilled { throw Killed() }
    }

    /// Runs a body in this process.
    func run<Result: Sendable>(_ body: @MainActor () async throws -> Result) async rethrows -> Result {
        // `try?`: a change of a file after the kill has no effect, because the next process has a copy.
        let note: @Sendable () -> Void = { [self] in try? step() }
        return try await FileSteps.$before.withValue(note) { try await body() }
    }

    var store: any SessionStore { Store(app: self) }
    var transport: any HTTPTransport & SocketTransport { Network(app: self) }

    private struct Store: SessionStore {
        let app: KillableApp

        func load() throws -> KeptSessions { app.kept }

        func save(_ sessions: KeptSessions) throws {
            try app.step()
            app.state.withLock { $0.kept = sessions }
        }
    }

    private struct Network: HTTPTransport, SocketTransport {
        let app: KillableApp

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            try reach()
            let answer = try await app.network.send(request)
            // The server has handled the request, but a killed process gets no answer.
            try reach()
            return answer
        }

        func connect(to url: URL) async throws -> any SocketConnection {
            try reach()
            return Connection(connection: try await app.network.connect(to: url), network: self)
        }

        fileprivate func reach() throws {
            do { try app.step() } catch { throw ClientFailure.offline("killed") }
        }
    }

    private struct Connection: SocketConnection {
        let connection: any SocketConnection
        let network: Network

        func send(_ text: String) async throws {
            try network.reach()
            try await connection.send(text)
        }

        func receive() async throws -> String {
            let text = try await connection.receive()
            if network.app.isKilled { throw ClientFailure.offline("killed") }
            return text
        }

        func close() { connection.close() }
    }
}
