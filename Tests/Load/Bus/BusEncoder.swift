import TestClients

/// The messages to and from a broker, as far as a measurement needs them. All payloads have one
/// length, and so do all deliveries.
enum BusEncoder {
    /// Services/Bus/PROTOCOL.md
    case parlor
    /// https://docs.nats.io/reference/reference-protocols/nats-protocol
    case nats

    static let payloadLength = 200
    private static let subject = "bench.told"
    private static let question = "bench.asked"
    private static let inbox = "bench.inbox.1"

    var hello: String {
        switch self {
        case .parlor: "{\"op\":\"hello\",\"version\":1,\"name\":\"parlor-bench\"}\n"
        case .nats: "CONNECT {\"verbose\":false,\"pedantic\":false}\r\n"
        }
    }

    var ping: String {
        switch self {
        case .parlor: "{\"op\":\"ping\"}\n"
        case .nats: "PING\r\n"
        }
    }

    var pong: String {
        switch self {
        case .parlor: "{\"op\":\"pong\"}\n"
        case .nats: "PONG\r\n"
        }
    }

    // MARK: - Events

    var subscription: String {
        switch self {
        case .parlor: "{\"op\":\"sub\",\"id\":1,\"subject\":\"\(Self.subject)\"}\n"
        case .nats: "SUB \(Self.subject) 1\r\n"
        }
    }

    func publication(of payload: String) -> String {
        switch self {
        case .parlor: "{\"op\":\"pub\",\"subject\":\"\(Self.subject)\",\"data\":\"\(payload)\"}\n"
        case .nats: "PUB \(Self.subject) \(Self.payloadLength)\r\n\(payload)\r\n"
        }
    }

    /// The bytes before and after the payload in a delivery.
    var deliveryFrame: (head: String, tail: String) {
        switch self {
        case .parlor: ("{\"op\":\"msg\",\"sub\":1,\"subject\":\"\(Self.subject)\",\"data\":\"", "\"}\n")
        case .nats: ("MSG \(Self.subject) 1 \(Self.payloadLength)\r\n", "\r\n")
        }
    }

    // MARK: - Requests

    /// The first message of the answering side.
    var offer: String {
        switch self {
        case .parlor: "{\"op\":\"serve\",\"id\":1,\"subject\":\"\(Self.question)\",\"queue\":\"bench\"}\n"
        case .nats: "SUB \(Self.question) bench 1\r\n"
        }
    }

    /// The first message of the asking side; nothing where replies need no subscription.
    var inboxSubscription: String {
        switch self {
        case .parlor: ""
        case .nats: "SUB \(Self.inbox) 1\r\n"
        }
    }

    func request(_ number: Int, _ payload: String) -> String {
        switch self {
        case .parlor: "{\"op\":\"req\",\"id\":\(number),\"subject\":\"\(Self.question)\",\"data\":\"\(payload)\"}\n"
        case .nats: "PUB \(Self.question) \(Self.inbox) \(Self.payloadLength)\r\n\(payload)\r\n"
        }
    }

    /// Returns the answer to a delivered request; nil if it is not a request.
    func reply(to message: String, _ payload: String) -> String? {
        switch self {
        case .parlor:
            guard let name = message.firstRange(of: "\"reply\":") else { return nil }
            let id = message[name.upperBound...].prefix { $0.isNumber }
            return id.isEmpty ? nil : "{\"op\":\"res\",\"id\":\(id),\"data\":\"\(payload)\"}\n"
        case .nats:
            let words = message.prefix { $0 != "\r\n" }.split(separator: " ")
            return words.count == 5 ? "PUB \(words[3]) \(Self.payloadLength)\r\n\(payload)\r\n" : nil
        }
    }

    // MARK: - What comes

    enum Kind: Equatable {
        case delivery
        case ping
        case pong
        /// The broker's greeting.
        case greeting
        case failure
    }

    /// Returns the first complete message in the bytes, and its length; nil if there is none yet.
    func first(in bytes: some RandomAccessCollection<UInt8>) -> (kind: Kind, length: Int)? {
        guard let newline = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = bytes.distance(from: bytes.startIndex, to: newline) + 1
        func begins(_ text: String) -> Bool { bytes.starts(with: text.utf8) }
        switch self {
        case .parlor:
            if begins("{\"op\":\"msg\"") || begins("{\"op\":\"res\"") { return (.delivery, line) }
            if begins("{\"op\":\"ping\"") { return (.ping, line) }
            if begins("{\"op\":\"pong\"") { return (.pong, line) }
            return (begins("{\"op\":\"welcome\"") ? .greeting : .failure, line)
        case .nats:
            if begins("MSG ") {
                let whole = line + Self.payloadLength + 2
                return bytes.count < whole ? nil : (.delivery, whole)
            }
            if begins("PING") { return (.ping, line) }
            if begins("PONG") { return (.pong, line) }
            return (begins("INFO") ? .greeting : .failure, line)
        }
    }
}
