import Foundation

/// Registers a device for the notifications of one client's person: when the client connects, and again until the server
/// accepts it.
@MainActor
final class DeviceRegistration {
    private struct Device: Equatable {
        let token: String
        let environment: PushEnvironment
    }

    private let api: RoomsAPI
    private let clock: any ClientClock
    private let log: ClientLog
    private let random: @Sendable () -> Double
    private var device: Device?
    /// What the server has accepted in the present session.
    private var registered: Device?
    private var registering: Task<Void, Never>?

    /// - Parameter api: fails with `stopped` while the client is stopped, which ends the attempts.
    init(
        api: RoomsAPI, clock: any ClientClock, log: ClientLog,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.api = api
        self.clock = clock
        self.log = log
        self.random = random
    }

    /// The device's token, registered or not.
    var token: String? { device?.token }

    /// Notes the device. It is registered at once if the client is connected, otherwise when it connects.
    func use(_ token: Data, _ environment: PushEnvironment, isConnected: Bool) {
        let text = token.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        device = Device(token: text, environment: environment)
        if isConnected { register() }
    }

    /// Registers the device, unless that is done. A pause between two attempts ends.
    func register() {
        registering?.cancel()
        guard device != registered else { return }
        registering = Task { [weak self] in
            var backoff = Backoff()
            while let pause = await self?.attempt(&backoff) {
                // Cancelled by a newer task.
                do { try await self?.clock.sleep(for: pause) } catch { return }
            }
        }
    }

    /// - Returns: the pause before the next attempt; nil if there is none.
    private func attempt(_ backoff: inout Backoff) async -> Duration? {
        guard let device, device != registered, !Task.isCancelled else { return nil }
        do {
            try await api.registerDevice(token: device.token, environment: device.environment)
            registered = device
            return nil
        } catch {
            let failure = ClientFailure(error)
            guard failure != .stopped, !Task.isCancelled else { return nil }
            log.warning(.session, "device not registered", for: failure)
            // Another connection tries again what the server refuses for good.
            guard failure.isRetryable else { return nil }
            return backoff.next(random: random(), atLeast: failure.retryAfter)
        }
    }

    /// Notes that the session has ended, and the registration with it.
    func noteSessionEnd() { registered = nil }
}
