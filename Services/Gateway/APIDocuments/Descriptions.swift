import Contracts
import GatewayCatalog
import JSON
import Logging
import Reactor
import ServiceKit
import Synchronization

/// The descriptions of services, each asked for once as long as its digest in the manifest stays the same.
///
/// A description comes from another program. One that is malformed or too large is ignored, with one line in
/// the log, and the service's routes are shown without it.
final class Descriptions: Sendable {
    private struct Known: Sendable {
        let digest: String
        let description: ServiceDescription
        let bytes: Int
    }

    private let services: RequestForwarder
    private let log: Logger
    private let known = Mutex<[String: Known]>([:])

    /// The time for all services together. They answer from memory.
    private static let timeout: Duration = .seconds(2)
    /// The limit of all descriptions together. Those of further services are not kept.
    private static let maxBytes = 4 << 20

    init(_ services: RequestForwarder, _ log: Logger) {
        self.services = services
        self.log = log
    }

    /// Returns the descriptions by service, and whether all that should be there are.
    func all(in catalog: Catalog) async -> ([String: ServiceDescription], isComplete: Bool) {
        let digests = catalog.manifests.compactMapValues(\.descriptionDigest)
        let missing = known.withLock { known in
            known = known.filter { digests[$0.key] == $0.value.digest }
            return digests.filter { known[$0.key] == nil }
        }
        let found = await withTaskGroup(of: (String, Known?).self) { group in
            let origin = RequestOrigin(id: "describe", deadline: .now() + Self.timeout)
            for (service, digest) in missing {
                group.addTask { (service, await self.ask(service, digest, origin)) }
            }
            return await group.reduce(into: [String: Known]()) { $0[$1.0] = $1.1 }
        }
        let all = known.withLock { known in
            for (service, one) in found {
                let bytes = known.values.reduce(one.bytes) { $0 + $1.bytes }
                let empty = Known(digest: one.digest, description: ServiceDescription(), bytes: 0)
                known[service] = bytes <= Self.maxBytes ? one : empty
            }
            return known
        }
        return (all.mapValues(\.description), found.count == missing.count)
    }

    /// - Returns: nil if the service does not reply.
    private func ask(_ service: String, _ digest: String, _ origin: RequestOrigin) async -> Known? {
        do throws(ServiceError) {
            let reply = try await services.ask(
                Subject.description(of: service), .emptyObject, as: nil, origin: origin, key: nil, isQuestion: true)
            if let description = ServiceDescription(reply.data) {
                return Known(digest: digest, description: description, bytes: reply.data.bytes.count)
            }
            log.warning(
                "a service's description is ignored: no object, or too large",
                ["name": service, "bytes": reply.data.bytes.count, "limit": ServiceDescription.maxBytes])
        } catch {
            if error.code.isRetryable { return nil }
            log.warning("a service does not describe itself", ["name": service, "error": "\(error.code.rawValue)"])
        }
        return Known(digest: digest, description: ServiceDescription(), bytes: 0)
    }
}
