import ParlorJSON

@testable import ParlorBus
@testable import ParlorMessageBus

extension FuzzTarget {
    /// Lines of a peer, as the client and the broker read them.
    static let busLine = FuzzTarget(name: "bus-line", maxLength: 2048) { input throws(FuzzFinding) in
        let lines = try sameForEverySplit(input) { (pieces) throws(FuzzFinding) in
            var splitter = LineSplitter(maxLine: 256)
            var lines: [[UInt8]] = []
            var isTooLong = false
            for piece in pieces where !isTooLong {
                do throws(LineSplitter.LineTooLong) {
                    try piece.withBytes { (bytes) throws(LineSplitter.LineTooLong) in
                        try splitter.split(bytes) { lines.append(Array($0)) }
                    }
                } catch {
                    isTooLong = true
                }
            }
            return BusLines(lines: lines, isTooLong: isTooLong)
        }
        for line in lines.lines { try line.withBytes { (bytes) throws(FuzzFinding) in try check(bytes) } }
        try input.withBytes { (bytes) throws(FuzzFinding) in try check(bytes) }
        _ = try sameForEverySplit(input) { (pieces) throws(FuzzFinding) in
            var reader = JSONLinesReader(name: "fuzz", token: nil)
            return words(pieces, &reader)
        }
    }

    private struct BusLines: Equatable {
        let lines: [[UInt8]]
        let isTooLong: Bool
    }

    /// Checks that a line means the same to `BusLine` as to the JSON parser, if it is an object without repeated names
    /// that ends with `data`.
    private static func check(_ bytes: UnsafeRawBufferPointer) throws(FuzzFinding) {
        let json = (try? JSONValue(parsing: Array(bytes)))?.object  // nil: it is not JSON, or not an object
        guard let line = try? BusLine(bytes) else {
            // It may still be JSON, for instance with a number where a text is expected.
            return
        }
        let texts = [
            ("subject", line.subject), ("queue", line.queue), ("token", line.token), ("name", line.name),
            ("request", line.request), ("key", line.key), ("trace", line.trace), ("code", line.code),
            ("message", line.message), ("error", line.error),
        ]
        let found = texts.map { ($0.0, bytes.string(at: $0.1)) }
        let data = bytes.value(at: line.data)
        let caller = bytes.value(at: line.caller)
        guard let json, json.names.last == "data", Set(json.names).count == json.names.count else { return }
        try require(data == json["data"], "data: \(data.debugDescription), expected \(json["data"].debugDescription)")
        // `BusLine` does not recognise a name with escapes.
        guard !bytes.contains(UInt8(ascii: "\\")) else { return }
        try require(caller == json["caller"], "caller: \(caller.debugDescription)")
        for (name, text) in found { try require(text == json[name]?.string, "\(name): \(text ?? "nil")") }
        try require(line.id.map { Int($0) } == json["id"]?.int, "id: \(line.id ?? 0)")
    }

    private static func words(_ pieces: [[UInt8]], _ reader: inout some BusReader) -> [String] {
        var words: [String] = []
        do throws(BusReadError) {
            for piece in pieces {
                try piece.withBytes { (bytes) throws(BusReadError) in
                    try reader.read(bytes) { words.append(text(of: $0)) }
                }
            }
        } catch {
            words.append(error.reason)
        }
        return words
    }

    /// Returns the whole message as text, for comparison.
    private static func text(of word: BrokerMessage) -> String {
        switch word {
        case .answer(let bytes): "answer \(String(decoding: bytes, as: UTF8.self))"
        case .welcome(let welcome):
            "welcome \(welcome.pingInterval?.wholeMilliseconds ?? -1) \(welcome.maxMessage ?? -1)"
        case .refusal(let text): "refusal \(text)"
        case .event(let subscription, let message): "event \(subscription) \(message.subject) \(message.data.text)"
        case .request(let subscription, let address, let subject, let data, let context):
            "request \(subscription) \(text(of: address)) \(subject) \(data.text) \(context.requestID) "
                + "\(context.caller?.text ?? "") \(context.timeout.wholeMilliseconds) \(context.key ?? "") \(context.trace ?? "")"
        case .reply(let id, .success(let data)): "reply \(id) \(data.text)"
        case .reply(let id, .failure(let error)): "no reply \(id) \(error.code)"
        case .pong: "pong"
        case .servers(let servers): "servers \(servers.map(\.description).joined(separator: " "))"
        case .complaint(let text): "complaint \(text)"
        case .subscriptionRefused(let id, let text): "refused \(id) \(text)"
        case .malformed(let address): "malformed \(text(of: address))"
        }
    }

    private static func text(of address: ReplyAddress?) -> String {
        switch address {
        case .number(let number): String(number)
        case .subject(let subject): subject
        case nil: ""
        }
    }

    /// Input from a NATS server.
    static let nats = FuzzTarget(name: "nats", maxLength: 2048) { input throws(FuzzFinding) in
        _ = try sameForEverySplit(input) { (pieces) throws(FuzzFinding) in
            let subjects = NATSSubjects(prefix: "p", inboxName: "i")
            var reader = NATSReader(NATSSession(name: "fuzz", .token("t"), subjects))
            return words(pieces, &reader)
        }
    }

    /// Lines, each from one of a broker's three peers. The broker's output has to consist of lines.
    /// When all peers are gone, none of their state is left.
    static let broker = FuzzTarget(name: "broker", maxLength: 4096) { input throws(FuzzFinding) in
        var settings = BrokerSettings()
        settings.maxUnsentBytes = 4096
        settings.maxSubscriptionsPerPeer = 4
        settings.maxRequestsPerPeer = 4
        let broker = Broker(settings: settings)
        let peers = (0..<3).map { _ in broker.connect(at: .zero) }
        var time = Duration.zero
        // The last one has to send its own hello.
        for peer in peers.dropLast() {
            receive(Array(#"{"op":"hello","version":1,"name":"x"}"#.utf8), broker, peer, time)
        }
        for line in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let choice = line.first ?? 0
            let peer = peers[Int(choice & 3) % 3]
            receive(Array(line.dropFirst()), broker, peer, time)
            if choice & 4 != 0 {
                time += .seconds(Int(choice))
                broker.tick(at: time)
            }
            if choice & 8 != 0, line.count == 1 { broker.disconnect(peer) }
            for ready in broker.takeReadyPeers() { try check(ready.takeOutbox()) }
        }
        for peer in peers { broker.disconnect(peer) }
        let left = broker.counters
        try require(
            left.requestsInFlight == 0 && left.subscriptions == 0 && left.peers == 0 && !broker.hasRequests,
            "something is left of peers that are gone: \(left)")
    }

    private static func receive(_ line: [UInt8], _ broker: Broker, _ peer: BrokerPeer, _ time: Duration) {
        line.withUnsafeBytes { broker.receive($0, from: peer, at: time) }
    }

    private static func check(_ sent: [UInt8]) throws(FuzzFinding) {
        try require(sent.isEmpty || sent.last == UInt8(ascii: "\n"), "a line without its end")
        for line in sent.split(separator: UInt8(ascii: "\n")) {
            let isLine = Array(line).withUnsafeBytes { (try? BusLine($0)) != nil }  // nil: it is not a line
            let text = String(decoding: line, as: UTF8.self)
            try require(isLine, "the broker sent something that is not a line: \(text)")
        }
    }
}
