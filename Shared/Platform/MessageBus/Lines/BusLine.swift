import Glibc
import ParlorJSON

/// A line of the protocol, parsed up to its `data`: the range of each known member's value.
///
/// The members may come in any order and with white space between them, but `data` ends the parsing: everything
/// from its value to the closing brace is the payload, and is not parsed. Unknown members are skipped. Of two
/// members with one name the later one counts. Values are unchecked except for their type; ranges of strings
/// exclude the quotation marks.
package struct BusLine {
    package enum Operation {
        case hello, welcome, sub, serve, unsub, pub, req, msg, res, ping, pong, err
    }

    /// The operation; nil for an unknown one.
    package private(set) var operation: Operation?
    /// The number of a subscription, or of a request and its reply. The sender chooses it.
    package private(set) var id: UInt64?
    /// The subscription that a `msg` is for.
    package private(set) var sub: UInt64?
    /// The number to reply to, in a `msg`.
    package private(set) var reply: UInt64?
    /// The timeout in milliseconds.
    package private(set) var timeout: UInt64?
    package private(set) var pingInterval: UInt64?
    package private(set) var version: UInt64?

    package private(set) var subject: Range<Int>?
    package private(set) var queue: Range<Int>?
    package private(set) var token: Range<Int>?
    package private(set) var name: Range<Int>?
    package private(set) var request: Range<Int>?
    package private(set) var key: Range<Int>?
    package private(set) var trace: Range<Int>?
    package private(set) var code: Range<Int>?
    package private(set) var message: Range<Int>?
    package private(set) var error: Range<Int>?
    /// The caller, which may be any JSON value.
    package private(set) var caller: Range<Int>?
    /// The payload, which may be any JSON value and is the last member of the line.
    package private(set) var data: Range<Int>?

    /// Parses a line.
    ///
    /// - Parameter line: the line without its newline.
    package init(_ line: UnsafeRawBufferPointer) throws(BusLineError) {
        var scanner = LineScanner(line)
        try scanner.open()
        while let member = try scanner.nextName() {
            if line.has("data", at: member) {
                data = try scanner.rest()
                return
            }
            try read(member, &scanner, line)
        }
    }

    /// Reads a known member. Compares lengths first, as most names differ in them.
    private mutating func read(
        _ member: Range<Int>, _ scanner: inout LineScanner, _ line: UnsafeRawBufferPointer
    ) throws(BusLineError) {
        func isNamed(_ name: StaticString) -> Bool { line.has(name, at: member) }
        switch member.count {
        case 2 where isNamed("op"): operation = Self.operation(at: try scanner.string(), in: line)
        case 2 where isNamed("id"): id = try scanner.number()
        case 3 where isNamed("sub"): sub = try scanner.number()
        case 3 where isNamed("key"): key = try scanner.string()
        case 4 where isNamed("name"): name = try scanner.string()
        case 4 where isNamed("code"): code = try scanner.string()
        case 5 where isNamed("queue"): queue = try scanner.string()
        case 5 where isNamed("reply"): reply = try scanner.number()
        case 5 where isNamed("token"): token = try scanner.string()
        case 5 where isNamed("trace"): trace = try scanner.string()
        case 5 where isNamed("error"): error = try scanner.string()
        case 6 where isNamed("caller"): caller = try scanner.value()
        case 7 where isNamed("subject"): subject = try scanner.string()
        case 7 where isNamed("timeout"): timeout = try scanner.number()
        case 7 where isNamed("request"): request = try scanner.string()
        case 7 where isNamed("version"): version = try scanner.number()
        case 7 where isNamed("message"): message = try scanner.string()
        case 12 where isNamed("pingInterval"): pingInterval = try scanner.number()
        default: _ = try scanner.value()
        }
    }

    private static func operation(at range: Range<Int>, in line: UnsafeRawBufferPointer) -> Operation? {
        func isNamed(_ name: StaticString) -> Bool { line.has(name, at: range) }
        return switch range.count {
        case 3 where isNamed("pub"): .pub
        case 3 where isNamed("req"): .req
        case 3 where isNamed("res"): .res
        case 3 where isNamed("msg"): .msg
        case 3 where isNamed("sub"): .sub
        case 3 where isNamed("err"): .err
        case 4 where isNamed("ping"): .ping
        case 4 where isNamed("pong"): .pong
        case 5 where isNamed("serve"): .serve
        case 5 where isNamed("unsub"): .unsub
        case 5 where isNamed("hello"): .hello
        case 7 where isNamed("welcome"): .welcome
        default: nil
        }
    }
}

/// The fault of a line, in words for its author.
package struct BusLineError: Error, Equatable {
    package let reason: String
}

extension UnsafeRawBufferPointer {
    @inline(__always) fileprivate func has(_ name: StaticString, at range: Range<Int>) -> Bool {
        guard range.count == name.utf8CodeUnitCount, let base = baseAddress else { return false }
        return memcmp(base + range.lowerBound, name.utf8Start, range.count) == 0
    }

    /// Decodes a JSON string from the range inside its quotation marks; bad UTF-8 is replaced.
    package func string(at inside: Range<Int>?) -> String? {
        guard let inside else { return nil }
        guard self[inside].contains(UInt8(ascii: "\\")) else { return String(decoding: self[inside], as: UTF8.self) }
        // Include the quotation marks.
        return JSONValue(trusted: Array(self[inside.lowerBound - 1..<inside.upperBound + 1])).string
    }

    /// Returns a copy of a value; nil if it is not JSON.
    package func value(at range: Range<Int>?) -> JSONValue? {
        guard let range else { return nil }
        do throws(JSONError) {
            return try JSONValue(parsing: Array(self[range]), isBounded: false)
        } catch {
            return nil
        }
    }
}
