import Foundation
import RoomsClient

/// A Parlor in the memory of a test: it speaks the real one's HTTP and Socket.IO to any number of devices, whose networks fail
/// as the test says.
///
/// Everything happens in explicit steps: when a call returns, the server has done what it asks for, and every packet that this
/// leads to lies at its device. It knows no time but its clock's, and starts no task. Not everything ends by itself, therefore:
/// typing that was not renewed ends in `endStaleTyping`, pings come from `ping`.
public final class ScriptedServer: Sendable {
    /// What `init` sets.
    public struct Settings: Sendable {
        public var tokenLifetime: Duration = .seconds(15 * 60)
        /// `GLOBAL_SCOPE`: whether `:global` events reach everybody, as a Parlor does by default, or a room's participants alone.
        public var broadcastsToEveryone = true
        /// As announced to sockets. A day, so that nobody misses a ping in a test that is not about them.
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

    /// A new device, with a network of its own.
    public func makeDevice() -> ScriptedDevice {
        let id = step { network in
            let id = network.faults.count + 1
            network.faults[id] = Faults()
            return id
        }
        return ScriptedDevice(id: id, server: self)
    }

    /// Refuses the next request of a name, whoever asks: `message:send`, or `GET /api/rooms/my-rooms`. Nothing is done.
    /// Over HTTP its status is the refusal's, else 503 if it is retryable, and 422.
    public func refuseNext(_ name: String, with refusal: Refusal) {
        step { $0.parlor.refusals.append(.init(name: name, refused: .init(refusal))) }
    }

    /// Access tokens that were given out are worth nothing any more, and the sockets that came with them end.
    public func expireTokens() {
        step { network in
            network.parlor.tokens = [:]
            for (id, _) in network.parlor.liveSockets { network.drop(id) }
        }
    }

    /// Every cursor that was given out is too old from now on: who comes back with one is told to load anew.
    public func forgetHistory() { step { $0.parlor.generation += 1 } }

    /// Typing that was not renewed for three seconds ends.
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

    /// Ends all sockets, as a deploy does; they may come back.
    public func closeSockets() {
        step { network in for id in network.connections.keys.sorted() { network.drop(id) } }
    }

    /// Does something with the network at the time that it is, then wakes those whom it concerns.
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
