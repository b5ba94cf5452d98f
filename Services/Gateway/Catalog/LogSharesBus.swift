import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus

/// Brings the writes in a room to the instance that serves the room's log, on a bus that does not bring requests with one key
/// to one instance. If no instance serves it at the moment, any gets them.
///
/// What only reads goes to any instance: if one dies with it, the bus asks another one.
final class LogSharesBus: ForwardingBus {
    let bus: any MessageBus
    private let layout: @Sendable (_ service: String) -> LogLayout

    /// - Parameter layout: returns the logs of a service.
    init(_ bus: any MessageBus, layout: @escaping @Sendable (_ service: String) -> LogLayout) {
        self.bus = bus
        self.layout = layout
    }

    func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<any BusPayload, BusError>) -> Void
    ) {
        guard !context.isRepeatable, let key = context.key, let dot = subject.utf8.firstIndex(of: UInt8(ascii: "."))
        else {
            return bus.request(subject, data, context, completion: completion)
        }
        let service = String(subject[..<dot])
        let layout = layout(service)
        guard layout.count > 1 else { return bus.request(subject, data, context, completion: completion) }
        let logID = LogID(service, layout.number(ofRoom: key))
        bus.request(Subject.request(subject, in: logID), data, context) { [bus] reply in
            guard case .failure(.noResponders) = reply else { return completion(reply) }
            bus.request(subject, data, context, completion: completion)
        }
    }
}
