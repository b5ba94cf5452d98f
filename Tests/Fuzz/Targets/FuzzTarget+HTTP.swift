@testable import ParlorHTTP

extension FuzzTarget {
    /// Requests with and without bodies, pipelined, under limits that small inputs reach.
    static let http = FuzzTarget(name: "http", maxLength: 4096) { input throws(FuzzFinding) in
        let outcome = try sameForEverySplit(input) { (pieces) throws(FuzzFinding) in try HTTPOutcome(pieces) }
        for event in outcome.events {
            switch event {
            case .request(let request), .bodyTooLarge(let request), .largeBody(let request): try check(request)
            case .continueExpected, .drained: break
            }
        }
    }

    private static func check(_ request: HTTPRequest) throws(FuzzFinding) {
        try require(request.body.count <= HTTPOutcome.limits.maxBodyBytes, "a body over its limit")
        try require(request.headers.count <= HTTPOutcome.limits.maxHeaders, "more fields than allowed")
        try require(
            !request.method.isEmpty && request.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a bad target")
        // If a proxy could frame a request differently, request smuggling would be possible.
        let codings = request.headers.all("Transfer-Encoding")
        let lengths = request.headers.all("Content-Length")
        try require(codings.isEmpty || lengths.isEmpty, "both framings were taken")
        try require(lengths.count <= 1, "two lengths were taken")
        try require(
            codings.isEmpty || codings.map(lowercasedASCII) == ["chunked"], "a coding that is not chunked: \(codings)")
        if let length = lengths.first {
            try require(!length.isEmpty && length.utf8.allSatisfy { (0x30...0x39).contains($0) }, "a length: \(length)")
        }
        for header in request.headers {
            try require(HTTPHeaders.isName(header.name), "no name: \(header.name)")
            try require(
                !header.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "a control character got through")
        }
        _ = request.keepAlive
        _ = request.headers.members("X-Forwarded-For")
        _ = request.headers.ifNoneMatch(names: EntityTag("abc"))
        try checkPath(request)
        try checkQuery(request)
        try checkResponse(to: request)
    }

    private static func lowercasedASCII(_ text: String) -> String {
        String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// Decodes percent-encoding (RFC 3986, section 2.1) independently: Foundation's decoding
    /// accepts some bytes that are not UTF-8.
    private static func unescaped(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte != UInt8(ascii: "%") {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.count == 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func checkPath(_ request: HTTPRequest) throws(FuzzFinding) {
        guard request.path.utf8.first == UInt8(ascii: "/"), request.path != "/" else { return }
        let parts = request.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        let expected = parts.map { unescaped($0) }
        try require(
            request.pathSegments == (expected.contains(nil) || parts.count > 64 ? nil : expected.compactMap(\.self)),
            "the path \(request.path)")
    }

    private static func checkQuery(_ request: HTTPRequest) throws(FuzzFinding) {
        guard let query = request.query else { return }
        var expected: [[String]]? = []
        for item in query.split(separator: "&") {
            let spaced = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                unescaped($0.split(separator: "+", omittingEmptySubsequences: false).joined(separator: " "))
            }
            guard let name = spaced[0], let value = spaced.count > 1 ? spaced[1] : "" else {
                expected = nil
                break
            }
            expected?.append([name, value])
        }
        let found = request.queryItems?.items.map { [$0.name, $0.value] }
        try require(found == expected, "the query \(query): \(found ?? []), expected \(expected ?? [])")
    }

    /// Checks that nothing copied from a request can end a line of the answer.
    private static func checkResponse(to request: HTTPRequest) throws(FuzzFinding) {
        var response = HTTPResponse(status: 200)
        response.headers.add("X-Request-Id", request.headers["X-Request-Id"] ?? request.target)
        let bytes = response.encode(keepAlive: true, date: "d").joined()
        let lines = Array(bytes).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        try require(lines.dropLast().allSatisfy { $0.last == UInt8(ascii: "\r") }, "a line without CRLF")
        let expected = HTTPResponse(status: 200).encode(keepAlive: true, date: "d").joined().count { $0 == 10 } + 1
        try require(lines.count - 1 == expected, "a response was split")
    }
}

/// The parser's outcome for some bytes.
private struct HTTPOutcome: Equatable {
    private(set) var events: [HTTPEvent] = []
    private(set) var error: HTTPParseError?
    private(set) var rest: [UInt8] = []
    /// Whether the connection would be closed after the answer.
    private var hasEnded = false

    static let limits: HTTPLimits = {
        var limits = HTTPLimits()
        limits.maxBodyBytes = 64
        limits.maxUnaskedBodyBytes = 24
        limits.maxDrainBytes = 256
        limits.maxHeadBytes = 400
        limits.maxRequestLineBytes = 120
        limits.maxHeaders = 8
        limits.maxChunkExtensionBytes = 32
        limits.maxChunkLineBytes = 24
        return limits
    }()

    init(_ pieces: [[UInt8]]) throws(FuzzFinding) {
        var parser = HTTPRequestParser(limits: Self.limits)
        do throws(HTTPParseError) {
            for piece in pieces {
                parser.append(piece)
                while !hasEnded, let event = try parser.next() {
                    events.append(event)
                    if case .largeBody(let request) = event { answer(request, &parser) }
                }
            }
        } catch {
            self.error = error
            let again = Result(catching: { () throws(HTTPParseError) in try parser.next() })
            try require(again == .failure(error), "an error, and then \(again)")
        }
        if error == nil, !hasEnded {
            // At most a part of one head, or of one chunk's line, is unused.
            try require(parser.bufferedBytes <= Self.limits.maxHeadBytes, "\(parser.bufferedBytes) bytes are held")
            rest = parser.takeRemaining()
        }
    }

    /// Chooses by the request's target, so that the choice does not depend on how the bytes are cut.
    private mutating func answer(_ request: HTTPRequest, _ parser: inout HTTPRequestParser) {
        if request.target.utf8.count.isMultiple(of: 2) {
            parser.takeBody()
        } else {
            hasEnded = !parser.dropBody()
        }
    }
}
