import JSON

/// A broker's protocol as a `TCPBus` speaks it: bytes in and out, no I/O. Each writer appends one message.
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
    /// Gives a request back: there will be no reply to it.
    func reply(_ address: ReplyAddress, _ error: BusError, to out: inout [UInt8])
    func ping(to out: inout [UInt8])
}

/// Reads one connection's bytes from the broker, from the first to the last.
protocol BusReader {
    /// The bytes to send before anything is received.
    var opening: [UInt8] { get }

    /// Calls the body with each word that is complete now.
    ///
    /// - Throws: when where the next word begins cannot be known. The connection is of no use then.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ body: (BrokerMessage) -> Void) throws(BusReadError)
}

enum BrokerMessage {
    /// Wants these bytes at once.
    case answer([UInt8])
    /// This peer is taken: from now on it may speak.
    case welcome(BusWelcome)
    /// This peer is not taken; in the broker's words.
    case refusal(String)
    case event(subscription: UInt64, BusMessage)
    case request(subscription: UInt64, ReplyAddress, subject: String, JSONValue, BusContext)
    case reply(id: UInt64, Result<JSONValue, BusError>)
    case pong
    /// More addresses of the broker.
    case servers([BusAddress])
    /// The broker's complaint about an earlier line.
    case complaint(String)
    /// No word of the protocol; it was a request if it says where to reply.
    case malformed(ReplyAddress?)
}

struct BusWelcome {
    /// The interval at which the broker expects a ping.
    var pingInterval: Duration?
    /// The longest message the broker takes, with its framing; nil if it takes all that `BusLimits` allows.
    var maxMessage: Int?
}

/// The destination of a reply, in the form of the broker that delivered the request.
enum ReplyAddress: Sendable, Equatable {
    case number(UInt64)
    case subject(String)
}

struct BusReadError: Error, Equatable {
    let reason: String
}

/// A subscription, to be repeated on each connection.
enum TCPBusSubscription: Sendable {
    case events(pattern: String, queue: String?, @Sendable (BusMessage) -> Void)
    case requests(pattern: String, queue: String, @Sendable (BusRequest) -> Void)
}
