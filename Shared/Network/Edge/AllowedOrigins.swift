import ParlorHTTP

/// The origins whose pages may use the server from a browser (CORS, in the Fetch standard): any, or those listed.
///
/// The server reads no cookies, so an allowed page can do only what its own tokens permit.
public enum AllowedOrigins: Sendable, Equatable {
    case any
    /// The listed origins, as browsers write them: `https://app.example`, with the port if it is not the
    /// scheme's default; `file://` for the pages of a device.
    case listed(Set<String>)

    /// Parses `*`, or origins separated by commas. Returns nil for anything else.
    public init?(_ text: String) {
        let entries = text.lowercased().filter { $0 != " " }.split(separator: ",", omittingEmptySubsequences: false)
            .map(String.init)
        if entries == ["*"] {
            self = .any
        } else if entries.allSatisfy(Self.isOrigin) {
            self = .listed(Set(entries.map(Self.withoutStandardPort)))
        } else {
            return nil
        }
    }

    /// Returns true if the text is a scheme and an authority: no path, no query, no user. Shells of apps have schemes of
    /// their own, such as `capacitor://localhost`.
    private static func isOrigin(_ text: String) -> Bool {
        guard let (scheme, authority) = split(text) else { return false }
        if scheme == "file" { return authority.isEmpty }
        return scheme.first?.isLetter == true
            && scheme.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
            && !authority.isEmpty && !authority.contains { "/?#@*\\".contains($0) }
    }

    private static func split(_ origin: String) -> (scheme: Substring, authority: Substring)? {
        origin.firstRange(of: "://").map { (origin[..<$0.lowerBound], origin[$0.upperBound...]) }
    }

    /// A browser leaves out the port that a scheme has anyway; people, libraries and proxies may not.
    private static func withoutStandardPort(_ origin: String) -> String {
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")]
        where origin.hasPrefix(scheme) && origin.hasSuffix(port) { return String(origin.dropLast(port.count)) }
        return origin
    }

    func allows(_ origin: String) -> Bool {
        switch self {
        case .any: true
        case .listed(let origins): origins.contains(Self.withoutStandardPort(origin.lowercased()))
        }
    }

    /// Returns true if a request may open a socket. CORS does not cover WebSockets, so the server checks.
    ///
    /// Browsers send `Origin`, so a request without it does not come from a page, and neither does one whose origin has
    /// the scheme of a WebSocket, as libraries of apps send it. A page of the same host is always allowed.
    func mayOpenSocket(_ request: HTTPRequest) -> Bool {
        guard let origin = request.headers["Origin"]?.lowercased(), !allows(origin) else { return true }
        guard let (scheme, _) = Self.split(origin) else { return false }
        if scheme == "ws" || scheme == "wss" { return true }
        guard let host = request.headers["Host"]?.lowercased() else { return false }
        return Self.withoutStandardPort(origin) == Self.withoutStandardPort("\(scheme)://\(host)")
    }

    /// Returns the headers that every response at a shared path has, so that the page that asked may read it.
    func fields(for request: HTTPRequest) -> HTTPHeaders {
        if self == .any { return Self.fieldsForAny }
        var fields: HTTPHeaders = ["Vary": "Origin"]
        guard let origin = request.headers["Origin"], allows(origin) else { return fields }
        fields.add("Access-Control-Allow-Origin", origin)
        // No cookie is read, but a page that sends its requests with credentials needs this to read the answers.
        fields.add("Access-Control-Allow-Credentials", "true")
        fields.add("Access-Control-Expose-Headers", Self.exposed)
        return fields
    }

    private static let exposed = "ETag, Retry-After, X-Request-Id"
    private static let fieldsForAny: HTTPHeaders = [
        "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": exposed,
    ]

    /// Returns the response to a preflight. `fields(for:)` adds whether the origin is allowed.
    static func preflight(of request: HTTPRequest) -> HTTPResponse {
        var headers: HTTPHeaders = [
            "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE", "Access-Control-Max-Age": "86400",
            "Vary": "Access-Control-Request-Headers",
        ]
        if let asked = request.headers["Access-Control-Request-Headers"] {
            headers.add("Access-Control-Allow-Headers", asked)
        }
        return HTTPResponse(status: 204, headers: headers)
    }

    static func isPreflight(_ request: HTTPRequest) -> Bool {
        request.method == "OPTIONS" && request.headers.contains("Origin")
            && request.headers.contains("Access-Control-Request-Method")
    }
}
