import ParlorHTTP
import ParlorReactor
import ParlorSecurity
import Synchronization

/// Answers one request, once. If it is released unanswered, the answer is 500.
public final class HTTPResponder: Sendable {
    /// The caller's id if it sent a valid one, or a new one. It is in the response's `X-Request-Id`.
    public let requestID: String
    private let connection: LoopBound<HTTPConnection>
    private let exchange: Int
    private let isDone = Atomic<Bool>(false)

    init(_ connection: LoopBound<HTTPConnection>, exchange: Int, requestID: String) {
        self.connection = connection
        self.exchange = exchange
        self.requestID = requestID
    }

    /// The loop on which it must be used.
    public var loop: EventLoop { connection.loop }

    /// Sends the response, on the loop only. A second response is dropped, and so is one to a client that is
    /// gone.
    ///
    /// - Parameter whenTaken: called once, on the loop: when the kernel has taken the whole answer from this
    ///   process, or the connection has ended.
    public func send(_ response: HTTPResponse, whenTaken: (() -> Void)? = nil) {
        guard !isDone.exchange(true, ordering: .relaxed) else { return whenTaken?() ?? () }
        connection.object.answer(exchange, with: response, whenTaken: whenTaken)
    }

    /// Answers a WebSocket's handshake with 101, and passes each message on. Refuses a request that is no
    /// handshake. On the loop only. This exists for WebSocket conformance suites; an endpoint's sockets are
    /// made elsewhere.
    ///
    /// - Parameter request: the request that this answers.
    /// - Parameter takeMessage: called on the loop.
    package func openWebSocket(
        for request: HTTPRequest, maxMessageBytes: Int,
        takeMessage: @escaping (PlainWebSocket, ArraySlice<UInt8>, _ isBinary: Bool) -> Void
    ) {
        guard !isDone.exchange(true, ordering: .relaxed) else { return }
        let opened = WebSocketConnection.open(
            for: request, on: connection.object, exchange: exchange, maxMessageBytes: maxMessageBytes)
        if let opened { opened.start(for: PlainWebSocket(opened, takeMessage)) }
    }

    deinit {
        if isDone.load(ordering: .relaxed) { return }
        connection.enqueue { [exchange] in $0.fail(exchange, status: 500, reason: "no answer was made") }
    }
}

/// The id that a request's log lines share in all services.
enum RequestID {
    static let header = "X-Request-Id"
    private static let maxLength = 128

    /// Returns the caller's id if it is harmless in a log and a header, or a new one.
    static func of(_ request: HTTPRequest?, randomness: any Randomness) -> String {
        guard let given = request?.headers[header], (1...maxLength).contains(given.utf8.count),
            given.utf8.allSatisfy(isSane)
        else { return Base64URL.encode(randomness.bytes(12)) }
        return given
    }

    private static func isSane(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
