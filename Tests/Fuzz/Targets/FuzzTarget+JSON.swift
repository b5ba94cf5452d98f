import Foundation
import ParlorJSON

extension FuzzTarget {
    /// A text, compared with Foundation's reading of it.
    static let json = FuzzTarget(name: "json", maxLength: 2048) { input throws(FuzzFinding) in
        // Unchecked text reads as nonsense, but within its bounds.
        visit(JSONValue(trusted: input), depth: 3)
        for maxDepth in [4, JSONValue.defaultMaxDepth] {
            switch Result(catching: { () throws(JSONError) in try JSONValue(parsing: input, maxDepth: maxDepth) }) {
            case .success(let value): try checkReading(value, maxDepth: maxDepth)
            case .failure(let error): try checkRefusal(of: input, error)
            }
        }
    }

    private static func visit(_ value: JSONValue, depth: Int) {
        _ = (value.kind, value.string, value.int, value.double, value.bool, value.text)
        guard depth < 6 else { return }
        for element in value.array ?? [] { visit(element, depth: depth + 1) }
        guard let object = value.object else { return }
        for (name, member) in object.all {
            _ = (object[name], value[name])
            visit(member, depth: depth + 1)
        }
    }

    private static func checkReading(_ value: JSONValue, maxDepth: Int) throws(FuzzFinding) {
        guard let again = try? JSONValue(parsing: value.bytes, maxDepth: maxDepth), again == value else {
            throw FuzzFinding("a value by itself is not JSON, or is a different value: \(value)")
        }
        guard let expected = oracle(value.bytes) else {
            throw FuzzFinding("taken, and Foundation refuses it: \(value)")
        }
        // Foundation drops a byte order mark after an escape.
        if maxDepth > 4, !value.text.unicodeScalars.contains("\u{FEFF}") { try compare(value, expected) }
    }

    /// Checks that Foundation also refuses each text that we refuse, unless only RFC 8259 forbids
    /// it.
    private static func checkRefusal(of input: [UInt8], _ error: JSONError) throws(FuzzFinding) {
        try require((0...input.count).contains(error.offset), "an error at \(error.offset) of \(input.count)")
        guard error.cause != .depth, !error.reason.contains("combining marks"), !error.reason.contains("a number"),
            !isAfterLastComma(error.offset, input), oracle(input[...]) != nil
        else { return }
        // These texts are in another encoding or have a byte order mark, and section 8.1 forbids both.
        let isUTF8 =
            String(validating: input, as: UTF8.self) != nil && !input.contains(0)
            && !input.starts(with: [0xEF, 0xBB, 0xBF])
        try require(!isUTF8, "refused (\(error)), and Foundation takes it: \(String(decoding: input, as: UTF8.self))")
    }

    /// Returns whether the error is at `[1,]`, which Foundation accepts.
    private static func isAfterLastComma(_ offset: Int, _ input: [UInt8]) -> Bool {
        guard offset < input.count, input[offset] == UInt8(ascii: "}") || input[offset] == UInt8(ascii: "]") else {
            return false
        }
        return input[..<offset].last { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: ",")
    }

    private static func oracle(_ bytes: ArraySlice<UInt8>) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)  // nil: refused
    }

    private static func compare(_ value: JSONValue, _ expected: Any) throws(FuzzFinding) {
        switch value.kind {
        case .object:
            guard let object = value.object, let members = expected as? [String: Any] else {
                throw FuzzFinding("no object: \(value)")
            }
            // Foundation compares strings by canonical equivalence; ours compare bytes.
            guard Set(object.names).count == Set(object.names.map { Array($0.utf8) }).count else { return }
            try require(
                Set(object.names) == Set(members.keys), "names \(object.names), expected \(Array(members.keys))")
            // Of repeated members the last one counts here, the first one in Foundation.
            guard Set(object.names).count == object.names.count else { return }
            for (name, member) in object.all {
                try require(object[name] == member && value[name] == member, "\(name) is found elsewhere")
                guard let inner = members[name] else { throw FuzzFinding("no member \(name)") }
                try compare(member, inner)
            }
            try checkRewriting(object)
        case .array:
            guard let elements = value.array, let expected = expected as? [Any], elements.count == expected.count else {
                throw FuzzFinding("not as many elements: \(value)")
            }
            for (element, expected) in zip(elements, expected) { try compare(element, expected) }
        case .string:
            try require(
                value.string.map { Array($0.utf8) } == (expected as? String).map { Array($0.utf8) },
                "the string \(value)")
        case .number:
            guard let number = expected as? NSNumber else { throw FuzzFinding("no number: \(value)") }
            if let int = value.int { try require(number.int64Value == Int64(int), "the number \(value): \(number)") }
            if let double = value.double {
                // Foundation turns a long integer into a decimal number. Its digits are right, but its `doubleValue` is
                // inexact, because it multiplies by ten again and again.
                let exact = (number as? NSDecimalNumber).flatMap { Double($0.stringValue) } ?? number.doubleValue
                let difference = abs(double - exact)
                try require(difference <= abs(double) * 1e-15, "the number \(value) is \(double), expected \(exact)")
            }
        case .bool: try require(value.bool == (expected as? Bool), "the truth of \(value)")
        case .null: try require(expected is NSNull, "not null: \(expected)")
        }
    }

    private static func checkRewriting(_ object: JSONObject) throws(FuzzFinding) {
        let written = JSONWriter.object { json in for (name, member) in object.all { json.member(name, member) } }
        let again = try? JSONValue(parsing: written.bytes)  // nil has no names
        let names = again?.object?.names.map { Array($0.utf8) }
        try require(names == object.names.map { Array($0.utf8) }, "rewritten as \(written)")
        let joined = JSONWriter.object { $0.members(of: written) }
        try require(joined == written, "joined as \(joined)")
    }

    /// Our written texts and numbers, read by Foundation.
    static let jsonWriter = FuzzTarget(name: "json-writer", maxLength: 1024) { input throws(FuzzFinding) in
        var input = FuzzInput(input)
        let number = Double(bitPattern: input.number())
        let integer = Int(truncatingIfNeeded: input.number())
        let text = String(decoding: input.all(), as: UTF8.self)
        let written = JSONWriter.object {
            $0.member("text", text)
            $0.member("integer", integer)
            $0.name("number")
            $0.number(number.isFinite ? number : 0)
            $0.member("name", object: { $0.member(text, true) })
        }
        guard let value = try? JSONValue(parsing: written.bytes), let expected = oracle(written.bytes) as? [String: Any]
        else {
            throw FuzzFinding("what was written is not JSON: \(written)")
        }
        try require(value["text"]?.string.map { Array($0.utf8) } == Array(text.utf8), "the text \(written)")
        try require(
            (expected["text"] as? String).map { Array($0.utf8) } == Array(text.utf8),
            "the text for Foundation: \(written)")
        try require(value["integer"]?.int == integer, "the integer \(written)")
        try require(value["number"]?.double == (number.isFinite ? number : 0), "the number \(written)")
        try require(
            value["name"]?.object?.names.first.map { Array($0.utf8) } == Array(text.utf8), "the name \(written)")
    }
}
