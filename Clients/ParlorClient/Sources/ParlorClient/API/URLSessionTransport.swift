import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests with a `URLSession`.
package struct URLSessionTransport: HTTPTransport {
    private let base: URL
    private let session: URLSession
    private let owner: SessionOwner

    /// The session has no cookies and no cache. It follows no redirects, as those would take the access token to another
    /// host.
    ///
    /// - Parameters:
    ///   - base: the server's address, with the path prefix that it is served under, if any.
    ///   - timeout: the number of seconds without data after which a request fails. A request that has its own time
    ///     limit keeps it.
    package init(base: URL, timeout: TimeInterval = 30) {
        self.base = base
        session = URLSession(
            configuration: Self.configuration(timeout: timeout), delegate: RedirectRefusal(), delegateQueue: nil)
        owner = SessionOwner(session)
    }

    private static func configuration(timeout: TimeInterval) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpShouldSetCookies = false
        configuration.timeoutIntervalForRequest = timeout
        return configuration
    }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let sent = try urlRequest(request)
        let body: Data
        let answer: URLResponse
        do {
            (body, answer) = try await self.answer(to: sent)
        } catch {
            try Task.checkCancellation()
            throw ClientFailure.offline(error.localizedDescription)
        }
        guard let answer = answer as? HTTPURLResponse else { throw ClientFailure.unreadable("no HTTP answer") }
        var headers: [String: String] = [:]
        for (name, value) in answer.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
        return HTTPResponse(status: answer.statusCode, headers: headers, body: body)
    }

    private func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
        #if canImport(FoundationNetworking)
            // A cancelled task stops waiting, but its request goes on. If a request is cancelled just as its answer
            // arrives, the cancelling thread and the session's thread deadlock (swift-corelibs-foundation, issue
            // 5412). The cancelling thread may be the main one.
            try await Task { [session] in try await session.data(for: request) }.valueUnlessCancelled
        #else
            try await session.data(for: request)
        #endif
    }

    func urlRequest(_ request: HTTPRequest) throws(ClientFailure) -> URLRequest {
        guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: true) else {
            throw .unreadable("\(base) is not a valid address")
        }
        while parts.percentEncodedPath.hasSuffix("/") { parts.percentEncodedPath.removeLast() }
        parts.percentEncodedPath += request.path
        if !request.query.isEmpty {
            // URLComponents does not encode a plus, which servers read as a space.
            parts.percentEncodedQuery = request.query.map {
                "\(HTTPRequest.percentEncode($0.name))=\(HTTPRequest.percentEncode($0.value ?? ""))"
            }.joined(separator: "&")
        }
        guard let url = parts.url else { throw .unreadable("\(request.path) is not a valid path") }
        var sent = URLRequest(url: url)
        sent.httpMethod = request.method
        sent.httpBody = request.body
        if let timeout = request.timeout { sent.timeoutInterval = timeout / .seconds(1) }
        for (name, value) in request.headers { sent.setValue(value, forHTTPHeaderField: name) }
        return sent
    }
}

/// Hands a redirect to the caller as the answer.
final class RedirectRefusal: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}

/// Invalidates the session when this object is released. Until then, a session keeps itself and its delegate in memory.
final class SessionOwner: Sendable {
    private let session: URLSession

    init(_ session: URLSession) { self.session = session }

    deinit { session.finishTasksAndInvalidate() }
}
