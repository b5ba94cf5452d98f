import ParlorContracts
import ParlorJSON
import ParlorReactor

@testable import ParlorEventLog
@testable import ParlorMessageBus
@testable import ParlorServiceKit

extension FuzzTarget {
    /// Values of settings: refused, or accepted and usable.
    static let settings = FuzzTarget(name: "settings", maxLength: 256) { input throws(FuzzFinding) in
        let text = String(decoding: input, as: UTF8.self)
        try read(text, .text) { _ in true }
        try read(text, .port) { _ in true }
        try read(text, .number(1...100)) { (1...100).contains($0) }
        try read(text, .size(1...(1 << 40))) { (1...(1 << 40)).contains($0) }
        try read(text, .duration(.zero ... .seconds(86_400))) { (Duration.zero ... .seconds(86_400)).contains($0) }
        try read(text, .choice(["a"]) { $0 }) { $0 == "a" }
        try read(text, .toggle) { $0 == (text == "on") }
        try read(text, .rate) { $0.perPerson > 0 && $0.perAddress > 0 && $0.personWindow > .zero }
        try read(text, .services) { !$0.isEmpty && Set($0).count == $0.count }
        try read(text, .networks) { !$0.isEmpty }
        try read(text, .crashPoint) { _ in true }
        try read(text, .bus) { BusURL($0.description) != nil }
        if let url = BusURL(text) { try require(BusURL(url.description) != nil, "\(text) is written as \(url)") }
        _ = Duration(setting: text)?.milliseconds
        for argument in [["--x", text], ["--x=\(text)"], [text]] {
            _ = try? Configuration([Setting("X", .text, "")], arguments: argument)  // refused
        }
        let pattern = SubjectGrammar.isPattern(text)
        try require(!SubjectGrammar.isSubject(text) || pattern, "a subject that is no pattern: \(text)")
        try require(
            !SubjectGrammar.isQueue(text) || SubjectGrammar.isSubject(text), "a queue that is no subject: \(text)")
    }

    /// Reads a setting without a default: a text is refused, or passes the check; an empty one and `none`
    /// mean none.
    private static func read<Value>(
        _ text: String, _ kind: SettingKind<Value>, _ isValid: (Value) -> Bool
    ) throws(FuzzFinding) {
        let setting = Setting("X", kind, "")
        // Nil if refused.
        guard let configuration = try? Configuration([setting], environment: ["X": text]) else { return }
        guard let value = configuration[setting] else {
            return try require(text.isEmpty || text == "none", "no value: \(text)")
        }
        try require(isValid(value), "\(text) is \(value)")
    }

    /// Messages between services: read, written and read again, they are the same.
    static let contracts = FuzzTarget(name: "contracts", maxLength: 2048) { input throws(FuzzFinding) in
        var entries: [LogEntry] = []
        for line in input.split(separator: UInt8(ascii: "\n")) {
            guard let value = try? JSONValue(parsing: line) else { continue }  // the bus takes no other
            try roundTrip(Manifest(value)?.json) { Manifest($0)?.json }
            try roundTrip(LogPage(value)?.json) { LogPage($0)?.json }
            try roundTrip(StatusReport(value)?.json) { StatusReport($0)?.json }
            try roundTrip(OpenRoomsRequest(value)?.json) { OpenRoomsRequest($0)?.json }
            try roundTrip(Person(value)?.json) { Person($0)?.json }
            try roundTrip(Caller(value)?.json) { Caller($0)?.json }
            try roundTrip(Membership(value)?.json) { Membership($0)?.json }
            try roundTrip((try? Reply(value))?.json) { (try? Reply($0))?.json }  // nil: an error or no reply
            try roundTrip(LogEntry(value)?.json) { LogEntry($0)?.json }
            if let entry = LogEntry(value) {
                _ = (entry.emissions.json, entry.digest, entry.at.iso, entry.at.isoSeconds)
                entries.append(entry)
            }
        }
        try follow(entries)
    }

    private static func roundTrip(_ written: JSONValue?, _ read: (JSONValue) -> JSONValue?) throws(FuzzFinding) {
        guard let written else { return }
        guard let value = try? JSONValue(parsing: written.bytes, maxDepth: .max) else {
            throw FuzzFinding("what was written is not JSON: \(written)")
        }
        try require(read(value) == written, "\(written) is read as \(read(value).debugDescription)")
    }

    /// Checks that a log's entries are delivered once and in order, however the bus orders them.
    private static func follow(_ entries: [LogEntry]) throws(FuzzFinding) {
        guard let first = entries.first else { return }
        var cursor = LogCursor()
        var handedOn = entries.dropFirst(2).prefix(2).flatMap { cursor.receive($0) }
        try require(handedOn.isEmpty, "an entry before the start")
        handedOn = cursor.start(at: first.seq)
        for entry in entries { handedOn += cursor.receive(entry) }
        for (entry, next) in zip(handedOn, handedOn.dropFirst()) {
            try require(entry.seq &+ 1 == next.seq, "\(next.seq) comes after \(entry.seq)")
        }
        try require(handedOn.first.map { $0.seq == first.seq &+ 1 } ?? true, "the first one is another")
    }
}
