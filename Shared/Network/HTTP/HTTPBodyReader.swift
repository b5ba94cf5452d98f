/// Takes a body out of its framing (RFC 9112, sections 6.2 and 7.1).
struct HTTPBodyReader {
    enum Piece {
        case data(ArraySlice<UInt8>)
        case end
    }

    private enum State {
        case length(remaining: Int)
        case chunkSize
        case chunk(remaining: Int)
        case chunkEnd
        case trailer
        case ended
    }

    private var state: State
    /// The bytes of lines around chunks so far. If the chunks are tiny, these are most of the input.
    private(set) var framingBytes = 0
    private var extensionBytes = 0
    private var trailerBytes = 0
    private var trailerFields = 0

    private init(_ state: State) { self.state = state }

    static func length(_ length: Int) -> HTTPBodyReader { HTTPBodyReader(.length(remaining: length)) }
    static let chunked = HTTPBodyReader(.chunkSize)

    /// The bytes of the body that have not been read; nil for a chunked body, whose length is known only at
    /// its end, and after the end.
    var announcedLength: Int? {
        if case .length(let remaining) = state { remaining } else { nil }
    }

    /// Returns the next piece of the body in the input, or nil until more arrives.
    mutating func next(_ input: inout HTTPInput, limits: HTTPLimits) throws(HTTPParseError) -> Piece? {
        while true {
            switch state {
            case .length(let remaining):
                if remaining == 0 {
                    state = .ended
                    continue
                }
                guard !input.isEmpty else { return nil }
                let data = input.take(atMost: remaining)
                state = .length(remaining: remaining - data.count)
                return .data(data)
            case .chunkSize:
                let tooLong = HTTPParseError(400, "the size of a chunk is too long")
                guard let line = try input.line(limit: limits.maxChunkLineBytes, tooLong: tooLong) else { return nil }
                let size = try chunkSize(input.bytes.span.extracting(line), limits: limits)
                state = size == 0 ? .trailer : .chunk(remaining: size)
                // Includes the CRLF at the chunk's end.
                if size > 0 { framingBytes += line.count + 4 }
            case .chunk(let remaining):
                guard !input.isEmpty else { return nil }
                let data = input.take(atMost: remaining)
                state = data.count == remaining ? .chunkEnd : .chunk(remaining: remaining - data.count)
                return .data(data)
            case .chunkEnd:
                let tooLong = HTTPParseError(400, "a chunk is longer than its size")
                guard let line = try input.line(limit: 2, tooLong: tooLong) else { return nil }
                guard line.isEmpty else { throw tooLong }
                state = .chunkSize
            case .trailer:
                guard try trailerLine(&input, limits: limits) else { return nil }
            case .ended:
                return .end
            }
        }
    }

    /// Parses hexadecimal digits and optional extensions after `;`, which are skipped. 15 digits always fit
    /// an `Int`.
    private mutating func chunkSize(_ line: Span<UInt8>, limits: HTTPLimits) throws(HTTPParseError) -> Int {
        var size = 0
        var digits = 0
        while digits < line.count, digits < 15, let digit = line[digits].hexDigit {
            size = size << 4 | Int(digit)
            digits += 1
        }
        guard digits > 0, digits == line.count || line[digits] == UInt8(ascii: ";"),
            line.allSatisfy(in: digits..<line.count, { $0.isFieldValueByte })
        else { throw HTTPParseError(400, "a chunk has no valid size") }
        extensionBytes += line.count - digits
        guard extensionBytes <= limits.maxChunkExtensionBytes else {
            throw HTTPParseError(400, "too many chunk extensions")
        }
        return size
    }

    /// Reads one line of the trailer, and returns true if it was complete. The fields are checked like
    /// headers and dropped: section 7.1.2 allows it, and none of them has a meaning here.
    private mutating func trailerLine(_ input: inout HTTPInput, limits: HTTPLimits) throws(HTTPParseError) -> Bool {
        let tooLong = HTTPParseError(431, "the trailer is too large")
        guard let line = try input.line(limit: limits.maxHeadBytes - trailerBytes, tooLong: tooLong) else {
            return false
        }
        if line.isEmpty {
            state = .ended
            return true
        }
        _ = try HTTPFieldLine(parsing: input.bytes.span.extracting(line))
        trailerBytes += line.count + 2
        trailerFields += 1
        guard trailerFields <= limits.maxHeaders else { throw tooLong }
        return true
    }
}
