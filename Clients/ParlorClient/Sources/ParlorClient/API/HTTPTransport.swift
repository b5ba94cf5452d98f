import Foundation

/// Sends requests to one server. `URLSessionTransport` does so, and `ParlorClientTesting` has a scripted one.
public protocol HTTPTransport: Sendable {
    /// Sends a request.
    ///
    /// - Returns: the server's answer, whatever its status.
    /// - Throws: `ClientFailure.offline` if no answer came; `CancellationError`.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// An HTTP request, without the server's address.
public struct HTTPRequest: Sendable, Equatable {
    public var method: String
    /// The path below the server's address; each segment is percent-encoded.
    public var path: String
    public var query: [URLQueryItem]
    public var headers: [String: String]
    public var body: Data?
    /// The time without data after which the request fails; nil for the transport's own limit.
    public var timeout: Duration?

    public init(
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
public struct HTTPResponse: Sendable, Equatable {
    public var status: Int
    /// Headers by lower-case name.
    public var headers: [String: String]
    public var body: Data

    public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
