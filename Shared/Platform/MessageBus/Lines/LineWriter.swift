import ParlorJSON

/// Appends lines of the protocol (Services/Bus/PROTOCOL.md) to bytes that wait to be sent.
///
/// `data` is written last, because a broker stops parsing there.
package enum LineWriter {
    package static func hello(name: String, token: String?, to out: inout [UInt8]) {
        line("hello", to: &out) {
            $0.member("version", ProtocolVersion.current)
            $0.member("name", name)
            if let token { $0.member("token", token) }
        }
    }

    package static func welcome(name: String, pingInterval: Duration, to out: inout [UInt8]) {
        line("welcome", to: &out) {
            $0.member("version", ProtocolVersion.current)
            $0.member("name", name)
            $0.member("maxLine", BusLimits.maxLine)
            $0.member("pingInterval", pingInterval.wholeMilliseconds)
        }
    }

    package static func subscribe(_ id: UInt64, _ pattern: String, queue: String?, to out: inout [UInt8]) {
        line("sub", to: &out) {
            $0.member("id", Int(id))
            $0.member("subject", pattern)
            if let queue { $0.member("queue", queue) }
        }
    }

    package static func serve(_ id: UInt64, _ pattern: String, queue: String, to out: inout [UInt8]) {
        line("serve", to: &out) {
            $0.member("id", Int(id))
            $0.member("subject", pattern)
            $0.member("queue", queue)
        }
    }

    package static func unsubscribe(_ id: UInt64, to out: inout [UInt8]) {
        line("unsub", to: &out) { $0.member("id", Int(id)) }
    }

    package static func ping(to out: inout [UInt8]) { line("ping", to: &out) { _ in } }
    package static func pong(to out: inout [UInt8]) { line("pong", to: &out) { _ in } }

    /// Writes the report of an error.
    ///
    /// - Parameters:
    ///   - id: the request or reply that the error is about.
    ///   - sub: the subscription that the error is about.
    package static func error(
        _ code: String, _ message: String, id: UInt64? = nil, sub: UInt64? = nil, to out: inout [UInt8]
    ) {
        line("err", to: &out) {
            if let id { $0.member("id", Int(id)) }
            if let sub { $0.member("sub", Int(sub)) }
            $0.member("code", code)
            $0.member("message", message)
        }
    }

    package static func publish(_ subject: String, _ data: JSONValue, to out: inout [UInt8]) {
        out += #"{"op":"pub","subject":""#
        out += subject.utf8
        out += #"","data":"#
        end(with: data, &out)
    }

    package static func request(
        _ id: UInt64, _ subject: String, _ data: JSONValue, _ context: BusContext, to out: inout [UInt8]
    ) {
        out += #"{"op":"req","id":"#
        out += String(id).utf8
        out += #","subject":""#
        out += subject.utf8
        out += #"","#
        members(context, &out)
        end(with: data, &out)
    }

    /// Writes a request's members except its subject, as an object of its own.
    static func envelope(_ data: JSONValue, _ context: BusContext, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "{"))
        members(context, &out)
        finish(with: data, &out)
    }

    /// Writes a reply's members, as an object of its own.
    static func envelope(_ data: JSONValue, to out: inout [UInt8]) {
        out += #"{"data":"#
        finish(with: data, &out)
    }

    /// Writes the members up to `data`'s value.
    private static func members(_ context: BusContext, _ out: inout [UInt8]) {
        out += #""timeout":"#
        out += String(context.timeout.wholeMilliseconds).utf8
        out += #","request":"#
        string(context.requestID, &out)
        if let caller = context.caller {
            out += #","caller":"#
            out += caller.bytes
        }
        if let key = context.key {
            out += #","key":"#
            string(key, &out)
        }
        if let trace = context.trace {
            out += #","trace":"#
            string(trace, &out)
        }
        out += #","data":"#
    }

    package static func reply(_ id: UInt64, _ data: JSONValue, to out: inout [UInt8]) {
        out += #"{"op":"res","id":"#
        out += String(id).utf8
        out += #","data":"#
        end(with: data, &out)
    }

    /// Reports that a request will get no reply.
    package static func reply(_ id: UInt64, _ error: BusError, to out: inout [UInt8]) {
        line("res", to: &out) {
            $0.member("id", Int(id))
            $0.member("error", error.code)
        }
    }

    // MARK: Parts

    private static func line(_ operation: String, to out: inout [UInt8], _ members: (inout JSONWriter) -> Void) {
        out += JSONWriter.bytes(reservingCapacity: 64) {
            $0.object {
                $0.member("op", operation)
                members(&$0)
            }
        }
        out.append(UInt8(ascii: "\n"))
    }

    /// Writes `data` and ends the line. A raw newline is white space in JSON, and would end the line here.
    private static func end(with data: JSONValue, _ out: inout [UInt8]) {
        let start = out.count
        finish(with: data, &out)
        for at in start..<out.count where out[at] == UInt8(ascii: "\n") { out[at] = UInt8(ascii: " ") }
        out.append(UInt8(ascii: "\n"))
    }

    private static func finish(with data: JSONValue, _ out: inout [UInt8]) {
        out += data.bytes
        out.append(UInt8(ascii: "}"))
    }

    private static func string(_ text: String, _ out: inout [UInt8]) {
        let plain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        guard plain else {
            out += JSONValue(text).bytes
            return
        }
        out.append(UInt8(ascii: "\""))
        out += text.utf8
        out.append(UInt8(ascii: "\""))
    }
}

extension [UInt8] {
    /// Appends a literal with one copy of its bytes. This takes a tenth of the time that iterating over a `String`
    /// takes.
    package static func += (bytes: inout [UInt8], literal: StaticString) {
        bytes += UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
    }
}

package enum ProtocolVersion {
    package static let current = 1
}

extension Duration {
    /// The duration in milliseconds, rounded up so that a short remaining time does not become zero; never
    /// negative.
    package var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        // Cap the time at a year: longer than any timeout, and the sum cannot overflow.
        return Int(min(seconds, 31_536_000)) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
