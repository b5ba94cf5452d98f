/// Parses the requests of one connection (HTTP/1.1, RFC 9112): bytes in, events out, no socket.
///
/// Ambiguous input is refused. The events do not depend on how the bytes are split. `append` all
/// that arrives, then call `next` until it returns nil. With pipelined requests, answer one before
/// taking the next. The parser keeps all appended bytes, so its owner stops reading the socket
/// while `bufferedBytes` is too large. Between requests it holds no memory.
public struct HTTPRequestParser: Sendable {
    /// The state that a deadline is for.
    public enum Progress: Sendable {
        /// Nothing of a request has arrived.
        case idle
        case head
        /// The head is complete, and its body is not. The body may be one that is dropped.
        case body
    }

    private enum State {
        case head
        case body
        /// `largeBody` was returned and waits for a decision.
        case asking
        case draining
        case ended
        case failed(HTTPParseError)
    }

    private let limits: HTTPLimits
    private var input = HTTPInput()
    private var state = State.head
    private var head = HTTPHead()
    private var headBytes = 0
    /// The size of the last returned request's head.
    public private(set) var lastHeadBytes = 0
    private var skippedEmptyLine = false
    /// The request whose body is being read.
    private var pending: HTTPRequest?
    private var body = HTTPBodyReader.chunked
    private var bodyBytes = 0
    private var mayTakeLargeBody = false
    /// The client waits for 100 Continue.
    private var expectsContinue = false

    public init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .ended, .failed: break
        case .head, .body, .asking, .draining: input.append(bytes)
        }
    }

    public mutating func append(_ bytes: some Collection<UInt8>) {
        Array(bytes).withUnsafeBytes { append($0) }
    }

    /// The number of bytes that were appended and not used yet.
    public var bufferedBytes: Int { input.count }

    /// The approximate memory that is held: `bufferedBytes`, and the received part of the current request
    /// including its head.
    public var heldBytes: Int { input.count + headBytes + (pending?.body.count ?? 0) }

    /// The request whose body is arriving.
    public var unfinished: HTTPRequest? { pending }

    /// True while a body arrives that was accepted although it is larger than `HTTPLimits.maxUnaskedBodyBytes`.
    public var isTakingLargeBody: Bool {
        if case .body = state { mayTakeLargeBody } else { false }
    }

    /// True while the rest of a refused body of a known length arrives. `next` drops it without parsing it.
    public var isDroppingUnparsed: Bool {
        if case .draining = state { body.announcedLength != nil } else { false }
    }

    /// True while the chunks of a refused body arrive. `next` parses them to find their end, and keeps nothing.
    public var isDroppingChunks: Bool {
        if case .draining = state { body.announcedLength == nil } else { false }
    }

    public var progress: Progress {
        switch state {
        case .head: !head.hasRequestLine && input.isEmpty ? .idle : .head
        case .body, .asking, .draining: .body
        case .ended, .failed: .idle
        }
    }

    /// Returns the next event, or nil until more has arrived.
    ///
    /// - Throws: the reason to close the connection, after its status is sent as the answer. Every later call
    ///   throws the same.
    public mutating func next() throws(HTTPParseError) -> HTTPEvent? {
        defer { input.releaseUsed() }
        do throws(HTTPParseError) {
            switch state {
            case .head: return try readHead()
            case .body: return try readBody()
            case .draining: return try drain()
            case .asking, .ended: return nil
            case .failed(let error): throw error
            }
        } catch {
            end(in: .failed(error))
            throw error
        }
    }

    /// Takes the body that `largeBody` announced.
    public mutating func takeBody() {
        guard case .asking = state else { return }
        mayTakeLargeBody = true
        state = .body
    }

    /// Drops the body that `largeBody` announced, as it arrives; `drained` follows.
    ///
    /// - Returns: false if the connection has to be closed after the answer, because the client waits for 100
    ///   Continue and may then send the body or leave it out (RFC 9110, section 10.1.1).
    public mutating func dropBody() -> Bool {
        guard case .asking = state else { return true }
        pending = nil
        noteGivenOut()
        state = .draining
        return !expectsContinue
    }

    /// Ends the parsing and returns the unused input: the first bytes of the protocol that was upgraded to.
    public mutating func takeRemaining() -> [UInt8] {
        let remaining = Array(input.take(atMost: input.count))
        end(in: .ended)
        return remaining
    }

    private mutating func end(in state: State) {
        self = HTTPRequestParser(limits: limits)
        self.state = state
    }

    // MARK: Head

    private mutating func readHead() throws(HTTPParseError) -> HTTPEvent? {
        while let line = try input.line(
            limit: head.hasRequestLine ? limits.maxHeadBytes - headBytes : limits.maxRequestLineBytes,
            tooLong: head.hasRequestLine
                ? HTTPParseError(431, "the head is too large") : HTTPParseError(414, "the request line is too long"))
        {
            headBytes += line.count + 2
            guard line.isEmpty else {
                let bytes = input.bytes
                try head.take(line: bytes.span.extracting(line), limits: limits)
                continue
            }
            if let request = head.finish() { return try begin(request) }
            // RFC 9112, section 2.2: an empty line before a request is to be ignored; old clients end a body with it.
            guard !skippedEmptyLine else { throw HTTPParseError(400, "empty lines before the request") }
            skippedEmptyLine = true
        }
        return nil
    }

    private mutating func begin(_ request: HTTPRequest) throws(HTTPParseError) -> HTTPEvent? {
        let framing = try HTTPHead.framing(of: request)
        expectsContinue = try HTTPHead.expectsContinue(request)
        skippedEmptyLine = false
        guard let framing else {
            noteGivenOut()
            return .request(request)
        }

        body = framing
        bodyBytes = 0
        mayTakeLargeBody = false
        if let length = framing.announcedLength, length > limits.maxBodyBytes {
            // After a 413 instead of 100, the client may send its body or leave it out (RFC 9110, section
            // 10.1.1). The next bytes could be either.
            if expectsContinue { throw HTTPParseError(413, "the body is too large") }
            noteGivenOut()
            state = .draining
            return .bodyTooLarge(request)
        }
        pending = request
        if let length = framing.announcedLength, length > limits.maxUnaskedBodyBytes {
            state = .asking
            return .largeBody(request)
        }
        state = .body
        return try readBody()
    }

    /// Notes that the caller owns the request now.
    private mutating func noteGivenOut() {
        lastHeadBytes = headBytes
        headBytes = 0
    }

    // MARK: Body

    /// The capacity that is reserved for a body. Most bodies are smaller and need one allocation; a client
    /// that announces a large body has to send it before it uses memory.
    private static let initialBodyCapacity = 4 * 1024

    private mutating func readBody() throws(HTTPParseError) -> HTTPEvent? {
        if expectsContinue {
            expectsContinue = false
            return .continueExpected
        }
        // Take it out while it grows: a second reference to its body would copy it with every piece.
        guard var request = pending.take() else { return nil }
        if request.body.isEmpty {
            request.body.reserveCapacity(min(body.announcedLength ?? 0, Self.initialBodyCapacity))
        }
        while bodyBytes <= limits.maxBodyBytes {
            guard let piece = try body.next(&input, limits: limits) else {
                pending = request
                return nil
            }
            guard case .data(let data) = piece else {
                state = .head
                noteGivenOut()
                return .request(request)
            }
            bodyBytes += data.count
            if bodyBytes <= limits.maxBodyBytes { request.body.append(contentsOf: data) }
            // Ask first, even if the body is over the limit by now: otherwise the events would depend on how
            // the bytes are split.
            if bodyBytes > limits.maxUnaskedBodyBytes, !mayTakeLargeBody {
                state = .asking
                pending = request
                request.body = []
                return .largeBody(request)
            }
        }
        state = .draining
        request.body = []
        noteGivenOut()
        return .bodyTooLarge(request)
    }

    private mutating func drain() throws(HTTPParseError) -> HTTPEvent? {
        while bodyBytes + body.framingBytes <= limits.maxDrainBytes {
            guard let piece = try body.next(&input, limits: limits) else { return nil }
            guard case .data(let data) = piece else {
                state = .head
                return .drained
            }
            bodyBytes += data.count
        }
        throw HTTPParseError(413, "the body is far too large")
    }
}
