import ParlorJSON

/// A broker's protocol for a `TCPBus`: bytes in and out, no I/O. Each writer appends one message.
protocol BusWire: Sendable {
    /// True if the broker reports at once that a responder's connection ended.
    var reportsLostResponders: Bool { get }

    var hasKeyAffinity: Bool { get }

    /// - Parameter name: identifies this peer to the broker.
    func makeReader(name: String) -> any BusReader

    func subscribe(_ id: UInt64, _ subscription: TCPBusSubscription, to out: inout [UInt8])
    func unsubscribe(_ id: UInt64, to out: inout [UInt8])
    func publish(_ subject: String, _ data: JSONValue, to out: inout [UInt8])
    func request(_ id: UInt64, _ subject: String, _ data: JSONValue, _ context: BusContext, to out: inout [UInt8])
    func reply(_ address: ReplyAddress, _ data: JSONValue, to out: inout [UInt8])
    /// Reports that a request will get no reply.
    func reply(_ address: ReplyAddress, _ error: BusError, to out: inout [UInt8])
    func ping(to out: inout [UInt8])
}

/// Parses one connection's bytes from the broker, from the first to the last.
protocol BusReader {
    /// The bytes to send before anything is received.
    var opening: [UInt8] { get }

    /// Calls the body with each message that is complete now.
    ///
    /// - Throws: when the start of the next message cannot be known. The connection cannot be used any more
    ///   then.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ body: (BrokerMessage) -> Void) throws(BusReadError)
}

enum BrokerMessage {
    /// Bytes that the connection must send at once.
    case answer([UInt8])
    /// The broker has accepted this peer, which may send now.
    case welcome(BusWelcome)
    /// The broker has refused this peer, with its reason.
    case refusal(String)
    case event(subscription: UInt64, BusMessage)
    case request(subscription: UInt64, ReplyAddress, subject: String, JSONValue, BusContext)
    case reply(id: UInt64, Result<JSONValue, BusError>)
    case pong
    /// Other addresses of the broker.
    case servers([BusAddress])
    /// The broker's complaint about an earlier line.
    case complaint(String)
    /// The broker's refusal of a subscription. NATS does not say which one it refuses: that is a complaint.
    case subscriptionRefused(UInt64, String)
    /// An invalid message. It was a request if it has an address to reply to.
    case malformed(ReplyAddress?)
}

struct BusWelcome {
    /// The silence after which the broker pings a peer.
    var pingInterval: Duration?
    /// The longest message that the broker accepts, with its framing; nil if it accepts all that `BusLimits`
    /// allows.
    var maxMessage: Int?
}

/// The address of a reply, in the form of the broker that delivered the request.
enum ReplyAddress: Sendable, Equatable {
    case number(UInt64)
    case subject(String)
}

struct BusReadError: Error, Equatable {
    let reason: String
}

/// A subscription, which is repeated on each connection.
enum TCPBusSubscription: Sendable {
    case events(pattern: String, queue: String?, @Sendable (BusMessage) -> Void)
    case requests(pattern: String, queue: String, @Sendable (BusRequest) -> Void)
}
