import ParlorContracts
import ParlorEventLog
import ParlorLogging
import Synchronization

/// Decides which service may send clients which events.
///
/// A service may send the events that its manifest names, and others that nobody's manifest names. The gateway's own events
/// are nobody else's. `room:badges` is sent by each service with a badge, for its own badges.
package final class Emitters: Sendable {
    /// Returns the events of an entry that are sent.
    package typealias Filter = @Sendable (LogEntry) -> [Emission]

    private let catalog = Mutex<@Sendable () -> Catalog?>({ nil })
    private let throttle = Mutex(LogThrottle())
    private let log: Logger

    package init(log: Logger) { self.log = log }

    /// - Parameter catalog: returns the present one. Before this call, nothing is refused.
    package func follow(_ catalog: @escaping @Sendable () -> Catalog?) { self.catalog.withLock { $0 = catalog } }

    /// Returns a closure for many entries of a service. It logs events that are not sent, each reason once a minute.
    package func filter(of service: String) -> Filter {
        guard let catalog = catalog.withLock(\.self)() else { return { $0.emissions } }
        return { [self] entry in
            let (emissions, mistake) = entry.emissionsAndMistake
            if let mistake {
                note("it has no `event`, `data` or right `to`", "\("\(mistake)".prefix(200))", of: service)
            }
            return emissions.filter { emission in
                guard let reason = catalog.refusal(of: emission, from: service) else { return true }
                note(reason, emission.event, of: service)
                return false
            }
        }
    }

    private func note(_ reason: String, _ event: String, of service: String) {
        guard throttle.withLock({ $0.note("\(reason) \(event)", of: service) }) else { return }
        log.warning("an event is not sent: \(reason)", ["name": service, "event": event])
    }
}
