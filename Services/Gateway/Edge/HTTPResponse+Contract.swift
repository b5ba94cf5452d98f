import ParlorContracts
import ParlorEdge
import ParlorHTTP
import ParlorJSON

extension HTTPResponse {
    /// Returns a response for the caller alone, which may contain tokens: no cache may store it (RFC 6749,
    /// section 5.1), and no browser may guess another type.
    static func json(_ body: JSONValue, status: Int = 200) -> HTTPResponse {
        var headers = unkept
        headers.add("Content-Type", "application/json")
        return HTTPResponse(status: status, headers: headers, body: Array(body.bytes))
    }

    static let noContent = HTTPResponse(status: 204, headers: unkept)

    private static let unkept: HTTPHeaders = ["Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"]

    /// Returns a success in the contract's form.
    static func data(
        _ data: JSONValue, page: JSONValue? = nil, status: Int, degraded: [String] = []
    ) -> HTTPResponse {
        let body = JSONWriter.object(reservingCapacity: data.bytes.count + 64) {
            $0.member("data", data)
            if let page { $0.member("page", object: { $0.member("next", page) }) }
            if !degraded.isEmpty { $0.member("degraded", array: { for name in degraded { $0.string(name) } }) }
        }
        return .json(body, status: status)
    }

    /// Returns a failure in the contract's form.
    ///
    /// - Parameter methods: the methods that the address accepts, if the request's method is wrong. `Allow` also names
    ///   `HEAD` if `GET` is one of them.
    static func error(_ error: ServiceError, allow methods: [String] = [], requestID: String) -> HTTPResponse {
        let body = JSONWriter.object { json in
            json.member(
                "error",
                object: {
                    $0.member("code", error.code.rawValue)
                    $0.member("message", error.message)
                    $0.member("requestId", requestID)
                })
        }
        var response = json(body, status: error.code.status)
        if let seconds = error.retryAfter { response.headers.add("Retry-After", String(seconds)) }
        if error.code == .unauthenticated { response.headers.add("WWW-Authenticate", "Bearer") }
        if !methods.isEmpty {
            let accepted = methods.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }
            response.headers.add("Allow", accepted.joined(separator: ", "))
        }
        return response
    }

    /// Returns the response to a request that the protocol modules refused.
    static func failure(_ failure: HTTPFailure) -> HTTPResponse {
        let code: ErrorCode =
            switch failure.status {
            case 413: .payloadTooLarge
            case 429: .rateLimited
            case 500: .internal
            case 503: .serviceUnavailable
            default: .malformedRequest
            }
        var response = error(
            ServiceError(code, "The request cannot be served: \(failure.reason).", retryAfter: failure.retryAfter),
            requestID: failure.requestID)
        response.status = failure.status
        return response
    }
}

extension ServiceError {
    static let methodNotAllowed = ServiceError(.methodNotAllowed, "This address does not take that method.")
}
