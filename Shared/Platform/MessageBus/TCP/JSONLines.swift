import ParlorJSON

/// JSON lines, the protocol of `parlor-bus` (Services/Bus/PROTOCOL.md).
struct JSONLines: BusWire {
    let token: String?

    var reportsLostResponders: Bool { true }
    var hasKeyAffinity: Bool { true }

    func makeReader(name: String) -> any BusReader { JSONLinesReader(name: name, token: token) }

    func subscribe(_ id: UInt64, _ subscription: TCPBusSubscription, to out: inout [UInt8]) {
        switch subscription {
        case .events(let pattern, let queue, _): LineWriter.subscribe(id, pattern, queue: queue, to: &out)
        case .requests(let pattern, let queue, _): LineWriter.serve(id, pattern, queue: queue, to: &out)
        }
    }

    func unsubscribe(_ id: UInt64, to out: inout [UInt8]) { LineWriter.unsubscribe(id, to: &out) }

    func publish(_ subject: String, _ data: JSONValue, to out: inout [UInt8]) {
        LineWriter.publish(subject, data, to: &out)
    }

    func request(_ id: UInt64, _ subject: String, _ data: JSONValue, _ context: BusContext, to out: inout [UInt8]) {
        LineWriter.request(id, subject, data, context, to: &out)
    }

    func reply(_ address: ReplyAddress, _ data: JSONValue, to out: inout [UInt8]) {
        LineWriter.reply(Self.number(address), data, to: &out)
    }

    func reply(_ address: ReplyAddress, _ error: BusError, to out: inout [UInt8]) {
        LineWriter.reply(Self.number(address), error, to: &out)
    }

    func ping(to out: inout [UInt8]) { LineWriter.ping(to: &out) }

    private static func number(_ address: ReplyAddress) -> UInt64 {
        guard case .number(let id) = address else { preconditionFailure("a request of another wire") }
        return id
    }
}

struct JSONLinesReader: BusReader {
    let opening: [UInt8]
    private var lines = LineSplitter()
    private var isWelcome = false

    init(name: String, token: String?) {
        var hello: [UInt8] = []
        LineWriter.hello(name: name, token: token, to: &hello)
        opening = hello
    }

    mutating func read(_ bytes: UnsafeRawBufferPointer, _ body: (BrokerMessage) -> Void) throws(BusReadError) {
        var isWelcome = isWelcome
        defer { self.isWelcome = isWelcome }
        do throws(LineSplitter.LineTooLong) {
            try lines.split(bytes) { line in
                let message = Self.parse(line, isWelcome: isWelcome)
                if case .welcome = message { isWelcome = true }
                body(message)
            }
        } catch {
            throw BusReadError(reason: "a line over \(BusLimits.maxLine) bytes")
        }
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer, isWelcome: Bool) -> BrokerMessage {
        let line: BusLine
        do throws(BusLineError) {
            line = try BusLine(bytes)
        } catch {
            return .malformed(nil)
        }
        return isWelcome ? parse(bytes, line) : parseFirst(bytes, line)
    }

    private static func parseFirst(_ bytes: UnsafeRawBufferPointer, _ line: BusLine) -> BrokerMessage {
        switch line.operation {
        case .welcome:
            let interval = line.pingInterval.flatMap { $0 > 0 ? Duration.milliseconds($0) : nil }
            return .welcome(BusWelcome(pingInterval: interval))
        case .err: return .refusal(bytes.string(at: line.message) ?? bytes.string(at: line.code) ?? "no reason given")
        default: return .malformed(nil)
        }
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer, _ line: BusLine) -> BrokerMessage {
        switch line.operation {
        case .msg: return message(bytes, line)
        case .res:
            guard let id = line.id else { return .malformed(nil) }
            return .reply(
                id: id,
                bytes.value(at: line.data).map { .success($0) } ?? .failure(.malformedReply))
        case .err:
            let error = BusError(
                code: bytes.string(at: line.code) ?? "", message: bytes.string(at: line.message) ?? "")
            if let id = line.id { return .reply(id: id, .failure(error)) }
            return line.sub.map { .subscriptionRefused($0, "\(error)") } ?? .complaint("\(error)")
        case .ping:
            var pong: [UInt8] = []
            LineWriter.pong(to: &pong)
            return .answer(pong)
        case .pong: return .pong
        default: return .malformed(nil)
        }
    }

    private static func message(_ bytes: UnsafeRawBufferPointer, _ line: BusLine) -> BrokerMessage {
        guard let sub = line.sub, let subject = bytes.string(at: line.subject) else { return .malformed(nil) }
        // The broker does not check that `data` is JSON, so it is checked here.
        guard let data = bytes.value(at: line.data) else { return .malformed(line.reply.map { .number($0) }) }
        guard let reply = line.reply else {
            return .event(subscription: sub, BusMessage(subject: subject, payload: data))
        }
        return .request(subscription: sub, .number(reply), subject: subject, data, BusContext(bytes, line))
    }
}

extension BusContext {
    /// Reads the members of a request's line other than its data.
    init(_ bytes: UnsafeRawBufferPointer, _ line: BusLine) {
        self.init(
            requestID: bytes.string(at: line.request) ?? "", caller: bytes.value(at: line.caller),
            timeout: line.timeout.map { .milliseconds($0) } ?? BusContext.defaultTimeout,
            key: bytes.string(at: line.key), trace: bytes.string(at: line.trace))
    }
}
