import Foundation
import ParlorClient

/// A Parlor in a test's memory. It speaks the real one's HTTP and Socket.IO with any number of devices, whose
/// networks fail as the test says.
///
/// It acts in explicit steps: when a call returns, the server has acted, and every resulting packet is at its
/// device. It starts no task and has no time but its clock's, so typing that is not renewed ends only with
/// `endStaleTyping`, and pings are sent only by `ping`.
public final class ScriptedServer: Sendable {
    /// The settings of `init`.
    public struct Settings: Sendable {
        public var tokenLifetime: Duration = .seconds(15 * 60)
        /// `GLOBAL_SCOPE`: true if `:global` events reach everyone, as by default; false for a room's
        /// participants.
        public var broadcastsToEveryone = true
        /// The announced ping interval. A day, so that unrelated tests need no pings.
        public var pingInterval: Duration = .seconds(24 * 60 * 60)
        public var pingTimeout: Duration = .seconds(20)

        public init() {}
    }

    let clock: any ClientClock
    private let network: Guarded<Network>

    public init(clock: any ClientClock, settings: Settings = Settings()) {
        self.clock = clock
        let parlor = Parlor(
            settings: Parlor.Settings(
                tokenLifetime: settings.tokenLifetime.milliseconds, broadcastsToEveryone: settings.broadcastsToEveryone,
                pingInterval: settings.pingInterval.milliseconds, pingTimeout: settings.pingTimeout.milliseconds),
            now: clock.now.milliseconds)
        network = Guarded(Network(parlor: parlor))
    }

    /// Creates a device with a network of its own.
    public func makeDevice() -> ScriptedDevice {
        let id = step { network in
            let id = network.faults.count + 1
            network.faults[id] = Faults()
            return id
        }
        return ScriptedDevice(id: id, server: self)
    }

    /// Refuses the next request of a name, such as `message:send` or `GET /api/rooms/my-rooms`, from any
    /// device. The server does not act. The HTTP status is the refusal's; without one, it is 503 if
    /// retryable, else 422.
    public func refuseNext(_ name: String, with refusal: Refusal) {
        step { $0.parlor.refusals.append(.init(name: name, refused: .init(refusal))) }
    }

    /// Expires all issued access tokens, and ends the sockets that use them.
    public func expireTokens() {
        step { network in
            network.parlor.tokens = [:]
            for (id, _) in network.parlor.liveSockets { network.drop(id) }
        }
    }

    /// Makes all issued cursors too old: clients that return with one have to reload.
    public func forgetHistory() { step { $0.parlor.generation += 1 } }

    /// Ends typing that was not renewed for three seconds.
    public func endStaleTyping() {
        step { network in
            network.parlor.endStaleTyping()
            network.flush()
        }
    }

    /// Sends every socket an Engine.IO ping.
    public func ping() {
        step { network in
            for id in network.connections.keys.sorted() {
                network.parlor.deliveries.append(.init(socketID: id, kind: .control, text: "2"))
            }
            network.flush()
        }
    }

    /// Ends all sockets, as a deployment does; they may reconnect.
    public func closeSockets() {
        step { network in for id in network.connections.keys.sorted() { network.drop(id) } }
    }

    /// Runs a step on the network at the current time, then wakes the affected receivers.
    @discardableResult
    func step<Result: Sendable>(_ body: @Sendable (inout Network) throws -> Result) rethrows -> Result {
        let now = clock.now.milliseconds
        defer { for wake in network.withLock({ $0.takeWakes() }) { wake.resume() } }
        return try network.withLock { network in
            network.parlor.advance(to: now)
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
