import HTTP
import Reactor
import Synchronization

/// What one request is answered with, once. Given up unanswered, it answers 500.
public final class HTTPResponder: Sendable {
    /// The caller's, if it sent a sane one, or a new one. It is in the answer's `X-Request-Id`.
    public let requestID: String
    private let connection: LoopBound<HTTPConnection>
    private let exchange: Int
    private let isDone = Atomic<Bool>(false)

    init(_ connection: LoopBound<HTTPConnection>, exchange: Int, requestID: String) {
        self.connection = connection
        self.exchange = exchange
        self.requestID = requestID
    }

    /// Where it has to be used.
    public var loop: EventLoop { connection.loop }

    /// On the loop only. A second answer is dropped, and so is one to a client that is gone.
    ///
    /// - Parameter whenTaken: called once, on the loop: when the client's kernel has the whole answer, or the connection has ended.
    public func send(_ response: HTTPResponse, whenTaken: (() -> Void)? = nil) {
        guard !isDone.exchange(true, ordering: .relaxed) else { return whenTaken?() ?? () }
        connection.object.answer(exchange, with: response, whenTaken: whenTaken)
    }

    deinit {
        if isDone.load(ordering: .relaxed) { return }
        let (connection, exchange) = (connection, exchange)
        connection.loop.execute { connection.object.fail(exchange, status: 500, reason: "no answer was made") }
    }
}
