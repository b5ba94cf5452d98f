/// An operation from a NATS server.
enum NATSOperation {
    /// The server's `INFO`, a JSON object.
    case info(UnsafeRawBufferPointer)
    case message(NATSMessageHead, headers: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer)
    case ping, pong, ok
    case error(String)
}

/// The parsed line of a `MSG` or `HMSG`.
struct NATSMessageHead: Equatable {
    let subject: String
    let subscription: UInt64
    let reply: String?
    let headerSize: Int
    /// The size of headers and payload together.
    let size: Int
}

/// Splits a stream of bytes into a NATS server's operations (the client protocol on docs.nats.io).
///
/// It holds at most one line or one payload, and copies only those that arrive in pieces. Bytes passed to the
/// body are valid until it returns.
struct NATSParser {
    /// The limit of a line. `INFO` names a cluster's servers; all other lines are far shorter.
    static let maxLine = 64 << 10
    /// The limit of a payload with its headers.
    static let maxPayload = BusLimits.maxLine + (64 << 10)

    private var line = LineSplitter(maxLine: maxLine)
    /// The head of the message whose payload is incomplete.
    private var head: NATSMessageHead?
    /// The part of that payload that has arrived.
    private var begun: [UInt8] = []

    mutating func parse(
        _ bytes: UnsafeRawBufferPointer, _ body: (NATSOperation) -> Void
    ) throws(BusReadError) {
        var rest = bytes
        while !rest.isEmpty {
            if let head {
                try readPayload(of: head, from: &rest, body)
            } else {
                try readLine(from: &rest, body)
            }
        }
    }

    private mutating func readLine(
        from rest: inout UnsafeRawBufferPointer, _ body: (NATSOperation) -> Void
    ) throws(BusReadError) {
        // Read up to the end of one line only: a payload may follow it.
        let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.count
        var read: Result<NATSMessageHead?, BusReadError> = .success(nil)
        do throws(LineSplitter.LineTooLong) {
            try line.split(UnsafeRawBufferPointer(rebasing: rest[..<end])) { line in
                read = Self.operation(line, body)
            }
        } catch {
            throw BusReadError(reason: "a line over \(Self.maxLine) bytes")
        }
        rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        head = try read.get()
    }

    private mutating func readPayload(
        of head: NATSMessageHead, from rest: inout UnsafeRawBufferPointer, _ body: (NATSOperation) -> Void
    ) throws(BusReadError) {
        let length = head.size + 2
        let taken = UnsafeRawBufferPointer(rebasing: rest.prefix(length - begun.count))
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken.count))
        guard begun.count + taken.count == length else {
            begun += taken
            return
        }
        self.head = nil
        if begun.isEmpty { return try Self.message(head, taken, body) }
        let whole = begun + taken
        begun = []
        let outcome = whole.withUnsafeBytes { bytes in
            Result { () throws(BusReadError) in try Self.message(head, bytes, body) }
        }
        try outcome.get()
    }

    private static func message(
        _ head: NATSMessageHead, _ bytes: UnsafeRawBufferPointer, _ body: (NATSOperation) -> Void
    ) throws(BusReadError) {
        guard bytes[head.size] == UInt8(ascii: "\r"), bytes[head.size + 1] == UInt8(ascii: "\n") else {
            throw BusReadError(reason: "a payload does not end where it should")
        }
        let headers = UnsafeRawBufferPointer(rebasing: bytes[..<head.headerSize])
        let payload = UnsafeRawBufferPointer(rebasing: bytes[head.headerSize..<head.size])
        body(.message(head, headers: headers, payload: payload))
    }

    /// - Returns: the head of a message if a payload follows.
    private static func operation(
        _ line: UnsafeRawBufferPointer, _ body: (NATSOperation) -> Void
    ) -> Result<NATSMessageHead?, BusReadError> {
        let line = line.last == UInt8(ascii: "\r") ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line
        let name = line.prefix { !$0.isBlank }
        let arguments = UnsafeRawBufferPointer(rebasing: line.dropFirst(name.count).drop { $0.isBlank })
        switch String(decoding: name, as: UTF8.self) {
        case "MSG":
            return head(arguments, sizes: 1).map { .success($0) } ?? .failure(BusReadError(reason: "a bad MSG"))
        case "HMSG":
            return head(arguments, sizes: 2).map { .success($0) } ?? .failure(BusReadError(reason: "a bad HMSG"))
        case "INFO": body(.info(arguments))
        case "PING": body(.ping)
        case "PONG": body(.pong)
        case "+OK": body(.ok)
        case "-ERR":
            let text = String(decoding: arguments, as: UTF8.self)
            body(
                .error(
                    text.count > 1 && text.hasPrefix("'") && text.hasSuffix("'")
                        ? String(text.dropFirst().dropLast()) : text))
        default: return .failure(BusReadError(reason: "not an operation of a NATS server"))
        }
        return .success(nil)
    }

    /// Parses `subject sid [reply] [header size] size`.
    private static func head(_ arguments: UnsafeRawBufferPointer, sizes: Int) -> NATSMessageHead? {
        let parts = arguments.split { $0.isBlank }
        guard parts.count == sizes + 2 || parts.count == sizes + 3 else { return nil }
        let numbers = ([parts[1]] + parts.suffix(sizes)).compactMap { number($0) }
        guard numbers.count == sizes + 1, let size = numbers.last, size <= maxPayload else { return nil }
        let headerSize = sizes == 2 ? numbers[1] : 0
        guard headerSize <= size else { return nil }
        return NATSMessageHead(
            subject: String(decoding: parts[0], as: UTF8.self), subscription: numbers[0],
            reply: parts.count == sizes + 3 ? String(decoding: parts[2], as: UTF8.self) : nil,
            headerSize: Int(headerSize), size: Int(size))
    }

    /// Parses at most eighteen digits, which fit every type used here.
    static func number(_ digits: some Collection<UInt8>) -> UInt64? {
        guard (1...18).contains(digits.count) else { return nil }
        var value: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + UInt64(digit - UInt8(ascii: "0"))
        }
        return value
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }
}
