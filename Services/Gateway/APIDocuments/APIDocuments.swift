import ParlorContracts
import ParlorGatewayCatalog
import ParlorHTTP
import ParlorJSON
import ParlorLogging
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import Synchronization

/// Serves `openapi.json` and `asyncapi.json`, composed from the current announcements and the gateway's own API.
///
/// Both documents are cached. A request composes them again if an announcement has changed since, and after 10 s if a
/// service was down. Compositions start at most once a second, and less often if they take long. Requests that arrive
/// during a composition wait for it.
package final class APIDocuments: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case openAPI = "openapi.json"
        case asyncAPI = "asyncapi.json"
    }

    /// The documents of one moment.
    private struct Composed: Sendable {
        let documents: [Kind: Document]
        let catalogRevision: Int
        /// True if every service that has a description was reached.
        let isComplete: Bool
        let composedAt: LoopInstant
        /// The time that the composition took, without waiting for services.
        let took: Duration
    }

    private struct Document: Sendable {
        let body: [UInt8]
        let tag: EntityTag

        init(_ json: JSONValue) {
            body = Array(json.bytes)
            tag = EntityTag(Base64URL.encode(SHA256.hash(body)))
        }
    }

    private struct State {
        var composed: Composed?
        /// The requests that wait for the composition in progress; nil if there is none.
        var waiting: [CheckedContinuation<Composed, Never>]?
    }

    private let directory: Directory
    private let own: OwnAPI
    private let descriptions: Descriptions
    private let executor: any TaskExecutor
    private let pause: Duration
    private let state = Mutex(State())

    /// The time after which services that could not be reached are asked again.
    private static let retryInterval: Duration = .seconds(10)

    /// The time between two compositions is at least this many times the duration of the first.
    private static let restFactor = 20

    /// - Parameters:
    ///   - executor: composes the documents, which takes milliseconds.
    ///   - pause: the minimum between two compositions. It bounds the cost of a service that announces a change
    ///     all the time.
    package init(
        _ own: OwnAPI, directory: Directory, services: RequestForwarder, on executor: any TaskExecutor,
        pause: Duration = .seconds(1), log: Logger
    ) {
        self.own = own
        self.directory = directory
        self.executor = executor
        self.pause = pause
        descriptions = Descriptions(services, log)
    }

    /// Returns the document, or 304 if the client has it already.
    package func response(_ kind: Kind, to headers: HTTPHeaders) async -> HTTPResponse {
        guard let document = await current().documents[kind] else { preconditionFailure("all kinds are composed") }
        var response = HTTPResponse(status: headers.ifNoneMatch(names: document.tag) ? 304 : 200)
        response.headers.add("ETag", document.tag.text)
        response.headers.add("Cache-Control", "no-cache")
        response.headers.add("X-Content-Type-Options", "nosniff")
        if response.status == 200 {
            response.headers.add("Content-Type", "application/json")
            response.body = document.body
        }
        return response
    }

    private func current() async -> Composed {
        let revision = directory.catalog.revision
        return await withCheckedContinuation { continuation in
            let (ready, isFirst) = state.withLock { state -> (Composed?, Bool) in
                if let composed = state.composed, isFresh(composed, at: revision) { return (composed, false) }
                let isFirst = state.waiting == nil
                state.waiting = state.waiting ?? []
                state.waiting?.append(continuation)
                return (nil, isFirst)
            }
            if let ready { return continuation.resume(returning: ready) }
            if isFirst { Task(executorPreference: executor) { [self] in await compose() } }
        }
    }

    private func isFresh(_ composed: Composed, at revision: Int) -> Bool {
        let age = .now() - composed.composedAt
        return age < max(pause, composed.took * Self.restFactor)
            || composed.catalogRevision == revision && (composed.isComplete || age < Self.retryInterval)
    }

    private func compose() async {
        let catalog = directory.catalog
        let isComplete = await descriptions.fetch(for: catalog)
        let began = LoopInstant.now()
        let contents = APIContents(catalog, descriptions.parsed, own: own)
        let composed = Composed(
            documents: [
                .openAPI: Document(OpenAPIDocument(contents).json),
                .asyncAPI: Document(AsyncAPIDocument(contents).json),
            ], catalogRevision: catalog.revision,
            isComplete: isComplete, composedAt: .now(), took: .now() - began)
        let waiting = state.withLock { state in
            state.composed = composed
            defer { state.waiting = nil }
            return state.waiting ?? []
        }
        for continuation in waiting { continuation.resume(returning: composed) }
    }
}
