import Contracts
import JSON
import Reactor

@testable import EventLog
@testable import MessageBus
@testable import ServiceKit

extension FuzzTarget {
    /// The values of settings: taken or refused, and what is taken can be used.
    static let settings = FuzzTarget(name: "settings", maxLength: 256) { input throws(FuzzFinding) in
        let text = String(decoding: input, as: UTF8.self)
        let kinds: [Setting.Kind] = [
            .text, .port, .number(1...100), .duration(.zero ... .seconds(86_400)), .size(1...(1 << 40)), .choice(["a"]),
            .toggle, .rate, .services, .networks,
        ]
        for kind in kinds {
            let setting = Setting("X", kind, default: "", "")
            // nil: refused
            guard let configuration = try? Configuration([setting], environment: ["X": text]) else { continue }
            switch kind {
            case .number(let range), .size(let range):
                try require(
                    text.isEmpty || range.contains(configuration.number("X")), "\(text) is \(configuration.number("X"))"
                )
            case .duration(let range):
                try require(range.contains(configuration.duration("X")), "\(text) is \(configuration.duration("X"))")
            case .rate:
                guard let rate = configuration.rate("X") else { continue }
                try require(rate.perPerson > 0 && rate.perAddress > 0 && rate.personWindow > .zero, "the rate \(text)")
            case .networks:
                try require(configuration.networks("X").count == configuration.list("X").count, "networks: \(text)")
            default: break
            }
        }
        if let url = BusURL(text) { try require(BusURL(url.description) != nil, "\(text) is written as \(url)") }
        _ = Duration(setting: text)?.milliseconds
        for argument in [["--x", text], ["--x=\(text)"], [text]] {
            _ = try? Configuration([Setting("X", .text, default: "", "")], arguments: argument)  // refused
        }
        let pattern = SubjectGrammar.isPattern(text)
        try require(!SubjectGrammar.isSubject(text) || pattern, "a subject that is no pattern: \(text)")
        try require(
            !SubjectGrammar.isQueue(text) || SubjectGrammar.isSubject(text), "a queue that is no subject: \(text)")
    }

    /// What services say to each other: read, written and read again, it is the same.
    static let contracts = FuzzTarget(name: "contracts", maxLength: 2048) { input throws(FuzzFinding) in
        var entries: [LogEntry] = []
        for line in input.split(separator: UInt8(ascii: "\n")) {
            guard let value = try? JSONValue(parsing: line) else { continue }  // the bus takes no other
            try roundTrip(Manifest(value)?.json) { Manifest($0)?.json }
            try roundTrip(LogPage(value)?.json) { LogPage($0)?.json }
            try roundTrip(StatusReport(value)?.json) { StatusReport($0)?.json }
            try roundTrip(OpenRoomQuestion(value)?.json) { OpenRoomQuestion($0)?.json }
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
            throw FuzzFinding("what was written is no JSON: \(written)")
        }
        try require(read(value) == written, "\(written) is read as \(read(value).debugDescription)")
    }

    /// A log's entries come once and in order, in whatever order the bus brings them.
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
