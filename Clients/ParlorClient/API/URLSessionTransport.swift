import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests with a `URLSession`.
public struct URLSessionTransport: HTTPTransport {
    private let base: URL
    private let session: URLSession

    /// - Parameters:
    ///   - base: the server's address, with the path prefix that it is served under, if any.
    ///   - session: by default one without cookies and cache, which ends a request after 30 seconds without data.
    public init(base: URL, session: URLSession? = nil) {
        self.base = base
        self.session = session ?? URLSession(configuration: Self.configuration(timeout: 30))
    }

    /// - Parameter timeout: the number of seconds without data after which a request fails.
    init(base: URL, timeout: TimeInterval) {
        self.init(base: base, session: URLSession(configuration: Self.configuration(timeout: timeout)))
    }

    private static func configuration(timeout: TimeInterval) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpShouldSetCookies = false
        configuration.timeoutIntervalForRequest = timeout
        return configuration
    }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
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
            // A cancelled task stops waiting, but its request goes on. Cancelling a request just as its answer arrives
            // deadlocks both threads, perhaps the main one (swift-corelibs-foundation, issue 5412).
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
        for (name, value) in request.headers { sent.setValue(value, forHTTPHeaderField: name) }
        return sent
    }
}
