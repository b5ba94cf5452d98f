import ParlorContracts
import ParlorMessageBus

/// Answers `parlor status` for all parts of a program. Every program on the bus has one.
struct StatusReporter: Component {
    private let subscription: BusSubscription

    var address: String? { nil }

    static func start(for components: [any Component], in node: Node) throws(BusError) -> StatusReporter {
        let (bus, log) = (node.bus, node.log)
        let started = ContinuousClock.now
        let instance = Program.instance
        let subscription = try bus.subscribe(Subject.statusRequest) { _ in
            Task {
                for component in components {
                    guard let status = await component.status() else { continue }
                    let report = StatusReport(
                        part: status.part, instance: instance, uptime: .now - started, figures: status.figures,
                        positions: status.positions)
                    do throws(BusError) {
                        try bus.publish(Subject.status, report.json)
                    } catch {
                        log.warning("status report not published", ["part": status.part, "error": "\(error)"])
                    }
                }
            }
        }
        return StatusReporter(subscription: subscription)
    }

    func isHealthy() async -> Bool { true }
    func stop(within deadline: Duration) async { subscription.cancel() }
}
