import Foundation

/// Sends requests to one server. `URLSessionTransport` does so, and `ParlorClientTesting` has a scripted one.
package protocol HTTPTransport: Sendable {
    /// Sends a request.
    ///
    /// - Returns: the server's answer, whatever its status.
    /// - Throws: `ClientFailure.offline` if no answer came; `CancellationError`.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// An HTTP request, without the server's address.
package struct HTTPRequest: Sendable, Equatable {
    package var method: String
    /// The path below the server's address; each segment is percent-encoded.
    package var path: String
    package var query: [URLQueryItem]
    package var headers: [String: String]
    package var body: Data?
    /// The time without data after which the request fails; nil for the transport's own limit.
    package var timeout: Duration?

    package init(
        _ method: String, _ path: String, query: [URLQueryItem] = [], headers: [String: String] = [:],
        body: Data? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }
}

/// The answer to an HTTP request.
package struct HTTPResponse: Sendable, Equatable {
    package var status: Int
    /// Headers by lower-case name.
    package var headers: [String: String]
    package var body: Data

    package init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
