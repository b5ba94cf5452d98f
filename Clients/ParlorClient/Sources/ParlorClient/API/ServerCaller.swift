import Foundation

/// Sends requests and decodes answers. It knows no routes: ``RoomsAPI`` and ``AccountsAPI`` do.
struct ServerCaller: Sendable {
    let transport: any HTTPTransport
    let makeRequestID: @Sendable () -> String
    let decoder = ServerDecoder()

    /// Sends a request, off the caller's actor.
    ///
    /// - Parameter tag: the ETag of an answer that the caller has. If it is current, the server sends 304
    ///   without a body.
    /// - Returns: a successful answer, or a 304.
    /// - Throws: `ClientFailure.refused` if the body is an error of this server. Any other failed answer
    ///   comes from something else, such as a proxy or a hotel's login page. That is temporary, so this throws
    ///   `offline`.
    @concurrent
    func answer(to request: HTTPRequest, token: String? = nil, unless tag: String? = nil) async throws -> HTTPResponse {
        var request = request
        request.headers["Accept"] = "application/json"
        request.headers["X-Request-Id"] = makeRequestID()
        if request.body != nil { request.headers["Content-Type"] = "application/json" }
        if let tag { request.headers["If-None-Match"] = tag }
        if let token { request.headers["Authorization"] = "Bearer \(token)" }
        let response = try await transport.send(request)
        if tag != nil, response.status == 304 { return response }
        guard (200..<300).contains(response.status) else {
            guard let refusal = Refusal(response, to: request, decoder) else { throw Self.foreignAnswer(response) }
            throw ClientFailure.refused(refusal)
        }
        return response
    }

    /// Decodes a successful answer.
    ///
    /// - Throws: `unreadable` if the data has another form; `offline` if the answer is not from this server.
    func read<Value: Decodable>(_ type: Value.Type, _ response: HTTPResponse) throws(ClientFailure) -> Envelope<Value> {
        do {
            return try decoder.decode(Envelope<Value>.self, from: response.body)
        } catch {
            try check(response)
            throw error
        }
    }

    /// - Throws: `offline` if a successful answer is not from this server.
    func check(_ response: HTTPResponse) throws(ClientFailure) {
        if response.status == 204 { return }
        do throws(ClientFailure) {
            _ = try decoder.decode(Envelope<Anything>.self, from: response.body)
        } catch {
            throw Self.foreignAnswer(response)
        }
    }

    /// Returns the failure for an answer that is not from this server.
    private static func foreignAnswer(_ response: HTTPResponse) -> ClientFailure {
        .offline("Something other than the server has answered, with status \(response.status).")
    }

    private struct Anything: Decodable {
        init(from decoder: any Decoder) {}
    }
}

/// The object around the data of every answer.
struct Envelope<Value: Decodable>: Decodable {
    let data: Value
    let page: PageInfo?
    /// Services that were down: their values are the last known ones.
    let degraded: [String]?

    struct PageInfo: Decodable, Sendable {
        let next: String?

        private enum Member: CodingKey {
            case next
        }

        /// Decodes `next`, which is a number in some lists that are sorted by `seq`.
        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            do {
                next = try members.decodeIfPresent(String.self, forKey: .next)
            } catch DecodingError.typeMismatch {
                next = String(try members.decode(Int.self, forKey: .next))
            }
        }
    }
}

extension Envelope: Sendable where Value: Sendable {}

extension Refusal {
    private struct Answer: Decodable {
        let error: Words

        struct Words: Decodable {
            let code: String
            let message: String?
            let requestID: String?

            private enum CodingKeys: String, CodingKey {
                case code, message
                case requestID = "requestId"
            }
        }
    }

    /// Returns nil if the body is not an error of this server.
    init?(_ response: HTTPResponse, to request: HTTPRequest, _ decoder: ServerDecoder) {
        let words: Answer.Words
        do throws(ClientFailure) {
            words = try decoder.decode(Answer.self, from: response.body).error
        } catch {
            return nil
        }
        let status = response.status
        self.init(
            code: words.code, message: words.message ?? "The server answered with status \(status).",
            isRetryable: status == 429 || status >= 500, status: status,
            requestID: words.requestID ?? response.headers["x-request-id"] ?? request.headers["X-Request-Id"],
            // A date is ignored: the contract does not use it.
            retryAfter: response.headers["retry-after"].flatMap { Int($0) }.map { .seconds(min(max($0, 0), 3_600)) })
    }
}

extension HTTPRequest {
    /// A request for a route below `/api`.
    init(
        _ method: String, to segments: [String], query: [(name: String, value: String?)] = [], body: JSON? = nil
    ) throws(ClientFailure) {
        let path = segments.map { "/" + Self.percentEncode($0) }.joined()
        let items = query.compactMap { item in item.value.map { URLQueryItem(name: item.name, value: $0) } }
        self.init(method, "/api" + path, query: items, body: try body?.encoded())
    }

    /// Percent-encodes all but RFC 3986's unreserved characters.
    static func percentEncode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}

extension JSON {
    /// - Throws: `ClientFailure.unreadable` for a number that JSON cannot represent.
    func encoded() throws(ClientFailure) -> Data { try Self.data(encoding: self) }

    /// Makes an object of the members that are not nil.
    static func members(_ members: [String: JSON?]) -> JSON { .object(members.compactMapValues(\.self)) }
}
