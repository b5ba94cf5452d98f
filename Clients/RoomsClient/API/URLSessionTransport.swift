import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests with a `URLSession`.
public struct URLSessionTransport: HTTPTransport {
    private let base: URL
    private let session: URLSession

    /// - Parameters:
    ///   - base: the server's address, with the path it stands under if it does not stand at the top.
    ///   - session: by default one that keeps neither cookies nor answers, and gives a request 30 seconds.
    public init(base: URL, session: URLSession? = nil) {
        self.base = base
        self.session = session ?? URLSession(configuration: Self.configuration)
    }

    private static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpShouldSetCookies = false
        configuration.timeoutIntervalForRequest = 30
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
        guard let answer = answer as? HTTPURLResponse else { throw ClientFailure.unreadable("no HTTP") }
        var headers: [String: String] = [:]
        for (name, value) in answer.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
        return HTTPResponse(status: answer.statusCode, headers: headers, body: body)
    }

    private func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
        #if canImport(FoundationNetworking)
            // Cancelled by whoever waits, it goes on to its end: a cancel that meets the answer locks up both threads for good,
            // the main one perhaps (swift-corelibs-foundation, issue 5412).
            try await Task { [session] in try await session.data(for: request) }.valueUnlessCancelled
        #else
            try await session.data(for: request)
        #endif
    }

    func urlRequest(_ request: HTTPRequest) throws(ClientFailure) -> URLRequest {
        guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: true) else {
            throw .unreadable("\(base) is no address")
        }
        while parts.percentEncodedPath.hasSuffix("/") { parts.percentEncodedPath.removeLast() }
        parts.percentEncodedPath += request.path
        if !request.query.isEmpty {
            // By hand: URLComponents leaves a plus as it is, which servers take for a space.
            parts.percentEncodedQuery = request.query.map {
                "\(HTTPRequest.percentEncode($0.name))=\(HTTPRequest.percentEncode($0.value ?? ""))"
            }.joined(separator: "&")
        }
        guard let url = parts.url else { throw .unreadable("\(request.path) is no path") }
        var sent = URLRequest(url: url)
        sent.httpMethod = request.method
        sent.httpBody = request.body
        for (name, value) in request.headers { sent.setValue(value, forHTTPHeaderField: name) }
        return sent
    }
}
