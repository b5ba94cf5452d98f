import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit

/// Sends requests to services on behalf of clients.
///
/// A class, as each call of a struct's `async` function begins with a copy of it.
package final class RequestForwarder: Sendable {
    package let bus: any MessageBus
    private let direct: any MessageBus
    private let directory: Directory
    private let faults: ReplyFaults
    /// The time limit of a request, from its arrival to its answer.
    package let requestTimeout: Duration

    /// The name of any service in error messages for people.
    private static let anyService = "This part of the service"

    /// Batches requests if a service accepts batches (`BatchingBus`). Sockets' events are not batched, as
    /// they have to stay in order.
    package init(bus given: any MessageBus, directory: Directory, requestTimeout: Duration, faults: ReplyFaults) {
        var direct = given
        if !given.hasKeyAffinity {
            direct = LogSharesBus(given) { directory.catalog.manifests[$0]?.logLayout ?? .single }
        }
        bus = BatchingBus(direct) { directory.takesBatches(on: $0) }
        self.direct = direct
        self.directory = directory
        self.requestTimeout = requestTimeout
        self.faults = faults
    }

    /// Returns the origin of a request that arrives now.
    ///
    /// - Parameter trace: the value of the header `traceparent`, or of the member `traceparent` in a socket event's
    ///   payload.
    package func origin(_ id: String, trace: String? = nil) -> RequestOrigin {
        RequestOrigin(id: id, trace: trace.flatMap(TraceParent.init), deadline: .now() + requestTimeout)
    }

    /// Sends a request to a service on behalf of a caller.
    ///
    /// - Parameter isRepeatable: true if the request only reads, so that it may be repeated.
    package func ask(
        _ subject: String, _ data: JSONValue, as caller: Caller?, origin: RequestOrigin, key: String?,
        isRepeatable: Bool = false
    ) async throws(ServiceError) -> Reply {
        let context = origin.context(for: caller, key: key ?? caller?.id, isRepeatable: isRepeatable)
        return try await bus.ask(subject, data, context, of: Self.anyService, faults: faults)
    }

    /// Sends the request of a socket's event, without suspending: the completion is called once, on any
    /// thread, maybe before this returns.
    package func send(
        _ subject: String, _ data: JSONValue, as caller: Caller?, origin: RequestOrigin, key: String?,
        completion: @escaping @Sendable (Result<Reply, ServiceError>) -> Void
    ) {
        let context = origin.context(for: caller, key: key ?? caller?.id)
        direct.ask(subject, data, context, of: Self.anyService, faults: faults, completion: completion)
    }

    /// Requests all pages of a list; the request's timeout is for all of them together.
    package func askForPages(
        _ subject: String, _ data: JSONValue, as caller: Caller?, origin: RequestOrigin, key: String?
    ) async throws(ServiceError) -> [Reply] {
        let context = origin.context(for: caller, key: key ?? caller?.id, isRepeatable: true)
        return try await bus.askForPages(subject, data, context, of: Self.anyService, faults: faults)
    }

    /// Returns those of these services that do not reply, or have not announced themselves. All are asked at
    /// once.
    package func missing(of services: [String]) async -> Set<String> {
        await withTaskGroup(of: String?.self) { group in
            for name in services { group.addTask { await self.isReady(name) ? nil : name } }
            return await group.reduce(into: Set<String>()) { missing, name in if let name { missing.insert(name) } }
        }
    }

    private func isReady(_ service: String) async -> Bool {
        do throws(ServiceError) {
            let origin = origin("readyz")
            _ = try await ask(Subject.health(of: service), .emptyObject, as: nil, origin: origin, key: nil)
            return directory.catalog.manifests[service] != nil
        } catch {
            return false
        }
    }
}
