import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import Synchronization

/// Finds services of an earlier release, which cache rooms' people and confirm no change of them.
final class OlderPrograms: Sendable {
    /// The time that all instances have to announce themselves once more.
    private static let wait: Duration = .milliseconds(500)

    private let bus: any MessageBus
    /// The services of Parlor's own, which have routes in rooms. Others are not known to cache anything.
    private let required: Set<String>
    /// The services that an instance has announced without confirming changes.
    private let found = Mutex<Set<String>>([])
    private let subscription = Mutex<BusSubscription?>(nil)

    init(bus: any MessageBus, required: Set<String>) {
        self.bus = bus
        self.required = required
    }

    func start() throws(BusError) {
        let made = try bus.subscribe(Subject.announcements) { [weak self] message in
            guard let self, let manifest = message.data["manifest"].flatMap(Manifest.init),
                required.contains(manifest.service),
                manifest.routes.contains(where: { $0.path.contains(":roomId") }), !manifest.confirmsPeopleChanges,
                manifest.service != RoomsService.name
            else { return }
            found.withLock { _ = $0.insert(manifest.service) }
        }
        subscription.withLock { $0 = made }
        try bus.publish(Subject.discover, JSONValue.emptyObject)
    }

    func stop() { subscription.withLock { $0 }?.cancel() }

    /// - Throws: `service_unavailable` while there is one.
    func requireNone() async throws {
        guard found.withLock({ !$0.isEmpty }) else { return }
        // It may have ended since.
        found.withLock { $0 = [] }
        try bus.publish(Subject.discover, JSONValue.emptyObject)
        try await Task.sleep(for: Self.wait)
        guard found.withLock({ $0.isEmpty }) else { throw ServiceError.unavailable("A part of this service") }
    }
}
