import ParlorJSON

/// Encodes operations for a NATS server (the client protocol on docs.nats.io).
///
/// An event's payload is its data. A request's is an envelope: the members of a `JSONLines` request that NATS
/// does not carry itself, `{"timeout":…,"request":…,"caller":…,"key":…,"trace":…,"data":…}`. A reply's is
/// `{"data":…}` or `{"error":"…"}`. It does not use NATS's headers: their values cannot contain line breaks
/// or structure, and a second encoding of the same members would have a second set of limits.
struct NATSWire: BusWire {
    let credentials: NATSCredentials?
    let subjects: NATSSubjects

    /// The inbox's subscription; the bus numbers its own from 1.
    static let inboxSubscription: UInt64 = 0
    /// The queue of all responders. NATS sends a request to one member of each matching group. With a single
    /// group, a request is performed once.
    private static let respondersQueue = "responders"

    init(credentials: NATSCredentials?, prefix: String) {
        self.credentials = credentials
        var random = SystemRandomNumberGenerator()
        let name = (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
        subjects = NATSSubjects(prefix: prefix, inboxName: credentials?.userAsToken.map { "\($0).\(name)" } ?? name)
    }

    var reportsLostResponders: Bool { false }
    var hasKeyAffinity: Bool { false }

    func makeReader(name: String) -> any BusReader { NATSReader(NATSSession(name: name, credentials, subjects)) }

    func subscribe(_ id: UInt64, _ subscription: TCPBusSubscription, to out: inout [UInt8]) {
        switch subscription {
        case .events(let pattern, let queue, _):
            out += "SUB \(subjects.events)\(pattern) \(queue.map { "\($0) " } ?? "")\(id)\r\n".utf8
        case .requests(let pattern, _, _):
            out += "SUB \(subjects.requests)\(pattern) \(Self.respondersQueue) \(id)\r\n".utf8
        }
    }

    func unsubscribe(_ id: UInt64, to out: inout [UInt8]) { out += "UNSUB \(id)\r\n".utf8 }

    func publish(_ subject: String, _ data: JSONValue, to out: inout [UInt8]) {
        Self.publish("\(subjects.events)\(subject)", data.bytes, to: &out)
    }

    func request(_ id: UInt64, _ subject: String, _ data: JSONValue, _ context: BusContext, to out: inout [UInt8]) {
        var envelope: [UInt8] = []
        LineWriter.envelope(data, context, to: &envelope)
        Self.publish("\(subjects.requests)\(subject) \(subjects.inbox)\(id)", envelope[...], to: &out)
    }

    func reply(_ address: ReplyAddress, _ data: JSONValue, to out: inout [UInt8]) {
        var envelope: [UInt8] = []
        LineWriter.envelope(data, to: &envelope)
        Self.publish(Self.subject(address), envelope[...], to: &out)
    }

    func reply(_ address: ReplyAddress, _ error: BusError, to out: inout [UInt8]) {
        Self.publish(Self.subject(address), Array(#"{"error":"\#(error.code)"}"#.utf8)[...], to: &out)
    }

    func ping(to out: inout [UInt8]) { out += "PING\r\n".utf8 }

    private static func publish(_ subjects: String, _ payload: ArraySlice<UInt8>, to out: inout [UInt8]) {
        out += "PUB \(subjects) \(payload.count)\r\n".utf8
        out += payload
        out += "\r\n".utf8
    }

    private static func subject(_ address: ReplyAddress) -> String {
        guard case .subject(let subject) = address else { preconditionFailure("a request of another wire") }
        return subject
    }
}
