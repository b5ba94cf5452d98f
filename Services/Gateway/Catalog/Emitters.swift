import Contracts
import Logging
import Synchronization

/// Decides which service may send clients which events.
///
/// A service may send the events that its manifest names, and others that nobody's manifest names. The gateway's own events
/// are nobody else's. `room:badges` is sent by each service with a badge, for its own badges.
package final class Emitters: Sendable {
    private let catalog = Mutex<@Sendable () -> Catalog?>({ nil })
    private let throttle = Mutex(LogThrottle())
    private let log: Logger

    package init(log: Logger) { self.log = log }

    /// - Parameter catalog: returns the present one. Before this call, nothing is refused.
    package func follow(_ catalog: @escaping @Sendable () -> Catalog?) { self.catalog.withLock { $0 = catalog } }

    /// Returns a closure for many events of a service: true for those that it may send. It logs the others, each once a minute.
    package func events(of service: String) -> (Emission) -> Bool {
        guard let catalog = catalog.withLock(\.self)() else { return { _ in true } }
        return { [self] emission in
            if catalog.maySend(emission, from: service) { return true }
            if throttle.withLock({ $0.note(emission.event, of: service) }) {
                log.warning(
                    "an event is not sent: it belongs to another service", ["name": service, "event": emission.event])
            }
            return false
        }
    }
}
