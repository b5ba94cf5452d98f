import Foundation
import ParlorClient

/// A Parlor in a test's memory. It speaks the real server's HTTP and Socket.IO with any number of devices, whose
/// networks fail as the test says.
///
/// It acts in explicit steps: when a call returns, the server has acted, and every resulting packet has arrived at its
/// device. It starts no task, and its only time is that of its clock. So typing that is not renewed ends only with
/// ``endStaleTyping()``, and only ``ping()`` sends pings.
public final class ScriptedServer: Sendable {
    /// The settings of a server.
    public struct Settings: Sendable {
        /// The time after which an access token expires.
        public var tokenLifetime: Duration = .seconds(15 * 60)
        /// True if `:global` events go to everyone, false if only to a room's participants (`GLOBAL_SCOPE`).
        public var broadcastsToEveryone = true
        /// The ping interval that the handshake announces. It is a day, so that most tests need no pings.
        public var pingInterval: Duration = .seconds(24 * 60 * 60)
        /// The ping timeout that the handshake announces.
        public var pingTimeout: Duration = .seconds(20)

        public init() {}
    }

    let clock: any ClientClock
    private let network: Guarded<Network>

    /// Creates a server without people, for a test.
    ///
    /// - Parameter clock: gives the times of changes, and delays answers.
    public convenience init(clock: TestClock, settings: Settings = Settings()) {
        self.init(time: clock, settings: settings)
    }

    /// Creates a server without people that uses the machine's time, for previews.
    public convenience init(settings: Settings = Settings()) { self.init(time: SystemClock(), settings: settings) }

    private init(time clock: any ClientClock, settings: Settings) {
        self.clock = clock
        let parlor = Parlor(
            numbers: Numbers(now: clock.now.milliseconds),
            sessions: Sessions(tokenLifetime: settings.tokenLifetime.milliseconds),
            gateway: Gateway(
                broadcastsToEveryone: settings.broadcastsToEveryone, pingInterval: settings.pingInterval.milliseconds,
                pingTimeout: settings.pingTimeout.milliseconds))
        network = Guarded(Network(parlor: parlor))
    }

    /// Creates a device, which has a network of its own.
    public func makeDevice() -> ScriptedDevice {
        let id = step { network in
            let id = network.faults.count + 1
            network.faults[id] = Faults()
            return id
        }
        return ScriptedDevice(id: id, server: self)
    }

    /// Refuses the next request with this name, such as `message:send` or `GET /api/rooms/my-rooms`, from any device.
    ///
    /// The server does not act on that request. If the refusal has no HTTP status, the status is 503 for a retryable
    /// refusal and 422 otherwise.
    public func refuseNext(_ name: String, with refusal: Refusal) {
        step { $0.parlor.refusals.append((name, Refused(refusal))) }
    }

    /// Expires all issued access tokens, and ends the sockets that use them.
    public func expireTokens() {
        step { network in
            network.parlor.sessions.expireTokens()
            for (id, _) in network.parlor.gateway.liveSockets { network.drop(id) }
        }
    }

    /// Ends all sessions of a person, as a new password does. The person's sockets get a Socket.IO DISCONNECT, and all
    /// of the person's tokens are refused from then on.
    public func endSessions(of personID: String) {
        step { network in
            network.parlor.sessions.endAll(of: personID)
            network.parlor.gateway.dismissSockets(of: personID)
            network.flush()
        }
    }

    /// Sends a person's sockets a Socket.IO DISCONNECT, as a server does with the oldest of too many. The sessions
    /// stay.
    public func dismissSockets(of personID: String) {
        step { network in
            network.parlor.gateway.dismissSockets(of: personID)
            network.flush()
        }
    }

    /// Makes all cursors too old. Clients that reconnect with one have to load everything again.
    public func forgetHistory() { step { $0.parlor.gateway.log.forgetAll() } }

    /// Ends typing that was not renewed for three seconds.
    public func endStaleTyping() {
        step { network in
            network.parlor.gateway.endStaleTyping(at: network.parlor.numbers.now)
            network.flush()
        }
    }

    /// Sends every socket an Engine.IO ping.
    public func ping() {
        step { network in
            for id in network.connections.keys.sorted() { network.parlor.gateway.control("2", to: id) }
            network.flush()
        }
    }

    /// Ends all sockets, as a restart of the server does. They can reconnect.
    public func closeSockets() {
        step { network in for id in network.connections.keys.sorted() { network.drop(id) } }
    }

    /// Runs one step at the current time. Receivers are resumed after it, when the lock is free.
    @discardableResult
    func step<Result: Sendable>(_ body: @Sendable (inout Network) throws -> Result) rethrows -> Result {
        let now = clock.now.milliseconds
        defer { for wake in network.withLock({ $0.takeWakes() }) { wake.resume() } }
        return try network.withLock { network in
            network.parlor.numbers.advance(to: now)
            return try body(&network)
        }
    }
}

extension Duration {
    var milliseconds: Int { Int((self / .milliseconds(1)).rounded()) }
}

extension Date {
    var milliseconds: Int { Int((timeIntervalSince1970 * 1000).rounded()) }
}
