import Glibc
import JSON

/// One line of the protocol, read as far as its `data`: where each known member's value lies in the line.
///
/// The members may come in any order and with white space between them, except that `data` ends the reading: all from
/// its value to the closing brace is the payload, and not looked at. Unknown members are skipped. Of two members with
/// one name the later counts. Values are as they stand, unchecked but for their type; ranges are without quotation marks.
package struct BusLine {
    package enum Operation {
        case hello, welcome, sub, serve, unsub, pub, req, msg, res, ping, pong, err
    }

    /// nil for one that is not known.
    package private(set) var operation: Operation?
    /// A number of the sender's choosing: of a subscription, or of a request and its reply.
    package private(set) var id: UInt64?
    /// In a `msg`: the subscription it is for.
    package private(set) var sub: UInt64?
    /// In a `msg`: the number to reply to.
    package private(set) var reply: UInt64?
    /// In milliseconds.
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
    /// Any JSON value, as it is written.
    package private(set) var caller: Range<Int>?
    /// Any JSON value, as it is written; the last thing in the line.
    package private(set) var data: Range<Int>?

    /// - Parameter line: without its newline.
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

    /// Compares lengths first: most names differ in that.
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

    /// The text of a JSON string whose inside this is; bad UTF-8 is replaced.
    package func string(at inside: Range<Int>?) -> String? {
        guard let inside else { return nil }
        guard self[inside].contains(UInt8(ascii: "\\")) else { return String(decoding: self[inside], as: UTF8.self) }
        // The quotation marks stand beside it.
        return JSONValue(trusted: Array(self[inside.lowerBound - 1..<inside.upperBound + 1])).string
    }

    /// A copy of a value, checked to be JSON; nil if it is not.
    package func value(at range: Range<Int>?) -> JSONValue? {
        guard let range else { return nil }
        do throws(JSONError) {
            return try JSONValue(parsing: Array(self[range]), boundsMarks: false)
        } catch {
            return nil
        }
    }
}
