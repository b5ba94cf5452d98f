import ParlorContracts
import ParlorGatewayCatalog
import ParlorJSON
import ParlorLogging
import ParlorReactor
import ParlorServiceKit
import Synchronization

/// The descriptions of services, each asked for once as long as its digest in the manifest stays the same.
///
/// A description comes from another program. One that is no object or is too large is ignored, with one line in the
/// log. Malformed parts are left out silently.
final class Descriptions: Sendable {
    private struct Known: Sendable {
        let digest: String
        /// The text as it was received: parsed, it takes several times the memory. Empty if it is ignored.
        let json: JSONValue
    }

    private let services: RequestForwarder
    private let log: Logger
    private let known = Mutex<[String: Known]>([:])

    /// The time for all services together. They answer from memory.
    private static let timeout: Duration = .seconds(2)
    /// The size limit of all descriptions together. Those of required services do not count, so others cannot crowd
    /// them out.
    static let maxBytes = 1 << 20

    init(_ services: RequestForwarder, _ log: Logger) {
        self.services = services
        self.log = log
    }

    /// The descriptions by service. Parsing takes time with each call.
    var parsed: [String: ServiceDescription] { known.withLock { $0 }.compactMapValues { ServiceDescription($0.json) } }

    /// Asks for the descriptions that are missing, and drops those that no manifest names any more.
    ///
    /// - Returns: true if every service that has a description was reached.
    func fetch(for catalog: Catalog) async -> Bool {
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
        let ignored = known.withLock { known in
            var size = known.reduce(0) { $0 + (catalog.isRequired($1.key) ? 0 : $1.value.json.bytes.count) }
            var ignored: [String] = []
            for (service, one) in found.sorted(by: { $0.key < $1.key }) {
                let counted = catalog.isRequired(service) ? 0 : one.json.bytes.count
                if counted == 0 || size + counted <= Self.maxBytes {
                    known[service] = one
                    size += counted
                } else {
                    known[service] = Known(digest: one.digest, json: .emptyObject)
                    ignored.append(service)
                }
            }
            return ignored
        }
        for service in ignored {
            log.warning(
                "a service's description is ignored: all together are too large",
                ["name": service, "limit": Self.maxBytes])
        }
        return found.count == missing.count
    }

    /// - Returns: nil if the service does not reply, or an instance of another version does.
    private func ask(_ service: String, _ digest: String, _ origin: RequestOrigin) async -> Known? {
        do throws(ServiceError) {
            let wanted = JSONWriter.object { $0.member("description", digest) }
            let reply = try await services.ask(
                Subject.description(of: service), wanted, as: nil, origin: origin, key: nil, isRepeatable: true)
            if reply.data.kind == .object, reply.data.bytes.count <= ServiceDescription.maxBytes {
                return Known(digest: digest, json: reply.data.detached)
            }
            log.warning(
                "a service's description is ignored: no object, or too large",
                ["name": service, "bytes": reply.data.bytes.count, "limit": ServiceDescription.maxBytes])
        } catch {
            if error.code.isRetryable { return nil }
            log.warning("a service does not describe itself", ["name": service, "error": "\(error.code.rawValue)"])
        }
        return Known(digest: digest, json: .emptyObject)
    }
}
