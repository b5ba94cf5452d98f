import HTTP
import Reactor

/// One HTTP connection: takes its requests one after the other, and answers each before the next is looked at.
final class HTTPConnection: ChannelHandler {
    /// The request that is being answered.
    private struct Exchange {
        let id: Int
        let requestID: String
        let keepsAlive: Bool
        let isHead: Bool
        let allowsAnyOrigin: Bool
        /// The session that holds it as its GET.
        var poll: EngineConnection?
    }

    /// What a client may send ahead while its request is answered; then it is no longer read from.
    private static let maxPipelinedBytes = 64 * 1024

    let channel: Channel
    let edge: EdgeLoop
    private var parser: HTTPRequestParser
    private var exchange: Exchange?
    private var exchangeCount = 0
    private var isProcessing = false
    /// The client sends nothing more.
    private var isFinished = false

    private var timer: LoopTimer?
    /// What the time-out is about. A connection that just opened has to send its first request.
    private var awaited = HTTPRequestParser.Progress.head
    private var hasReceived = false
    /// Ends what is awaited; nil while a request is answered.
    private var deadline: LoopInstant?

    init(_ channel: Channel, edge: EdgeLoop) {
        self.channel = channel
        self.edge = edge
        parser = HTTPRequestParser(limits: edge.configuration.http)
        deadline = edge.loop.now + edge.configuration.headTimeout
        timer = edge.loop.schedule(after: edge.configuration.headTimeout) { [unowned self] in timerFired() }
    }

    // MARK: From the channel

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        hasReceived = true
        parser.append(bytes)
        process()
    }

    func channelPeerDidFinish(_ channel: Channel) {
        isFinished = true
        // Half-closed by a client that still wants its answer; but one that polls has gone.
        if let exchange, exchange.poll == nil { return }
        channel.close()
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        let poll = exchange?.poll
        release()
        poll?.pollLost()
    }

    private func release() {
        exchange = nil
        timer?.cancel()
        timer = nil
        edge.forget(self)
    }

    // MARK: Requests

    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        do throws(HTTPParseError) {
            while exchange == nil, channel.isOpen, let event = try parser.next() {
                switch event {
                case .request(let request):
                    edge.counters.requests.add(1)
                    begin(request)
                case .continueExpected: channel.write(HTTPResponse.continueBytes)
                case .bodyTooLarge(let request):
                    edge.counters.requests.add(1)
                    fail(open(request), status: 413, reason: "the body is too large")
                case .drained: break
                }
            }
        } catch {
            fail(open(nil), status: error.status, reason: error.reason)
        }
        if exchange == nil {
            setDeadline()
        } else if parser.bufferedBytes > Self.maxPipelinedBytes {
            channel.pauseReading()
        }
    }

    private func begin(_ request: HTTPRequest) {
        let endpoint = edge.endpoints.first { $0.matches(request.path) }
        let id = open(request, allowsAnyOrigin: endpoint?.settings.allowsAnyOrigin ?? false)
        if let endpoint {
            serve(request, at: endpoint, exchange: id)
        } else {
            edge.delegate.respond(to: request, from: client(of: request), using: responder(id))
        }
    }

    func client(of request: HTTPRequest) -> IPAddress {
        edge.configuration.client(of: request, from: channel.peer.ip)
    }

    /// Goes on with a request that came in on another loop. Before anything else is received here.
    func resume(with request: HTTPRequest) {
        let endpoint = edge.endpoints.first { $0.matches(request.path) }
        let id = open(request, allowsAnyOrigin: endpoint?.settings.allowsAnyOrigin ?? false)
        // At the end of the turn the channel has this connection as its handler, which an upgrade then replaces.
        edge.loop.atEndOfTurn { [self] in
            guard exchange?.id == id, let endpoint else { return }
            serve(request, at: endpoint, exchange: id)
        }
    }

    /// Gives the connection up to another loop. nil if it is closed.
    func detach() -> (DetachedConnection, received: [UInt8])? {
        guard let detached = channel.detach() else { return nil }
        let received = parser.takeRemaining()
        release()
        return (detached, received)
    }

    /// Ends HTTP on this connection with the head of a 101, and gives what has come after the request.
    func upgrade(with response: [UInt8]) -> [UInt8] {
        channel.write(response)
        let received = parser.takeRemaining()
        release()
        return received
    }

    private func open(_ request: HTTPRequest?, allowsAnyOrigin: Bool = false) -> Int {
        exchangeCount += 1
        deadline = nil
        exchange = Exchange(
            id: exchangeCount, requestID: RequestID.of(request, randomness: edge.randomness),
            keepsAlive: request?.keepAlive ?? false, isHead: request?.method == "HEAD", allowsAnyOrigin: allowsAnyOrigin
        )
        return exchangeCount
    }

    // MARK: Answers

    private func responder(_ id: Int) -> HTTPResponder {
        HTTPResponder(LoopBound(self, to: edge.loop), exchange: id, requestID: requestID)
    }

    /// Of the request that is being answered.
    var requestID: String { exchange?.requestID ?? "" }

    /// Keeps the request as its session's GET until it is answered.
    func hold(_ id: Int, for session: EngineConnection) {
        if exchange?.id == id { exchange?.poll = session }
    }

    func answer(_ id: Int, with response: HTTPResponse) {
        guard let answered = exchange, answered.id == id else { return }
        exchange = nil
        var response = response
        response.headers.add(RequestID.header, answered.requestID)
        if answered.allowsAnyOrigin { response.headers.add("Access-Control-Allow-Origin", "*") }
        let keepsAlive = answered.keepsAlive && !edge.isDraining
        for piece in response.encode(keepAlive: keepsAlive, headOnly: answered.isHead, date: edge.httpDate) {
            channel.write(piece)
        }
        timer?.rearm(after: edge.configuration.writeTimeout)
        guard keepsAlive else { return channel.close() }
        channel.resumeReading()
        process()
        if isFinished, exchange == nil { channel.close() }
    }

    func fail(_ id: Int, status: Int, reason: String, headers: [(name: String, value: String)] = []) {
        guard let exchange, exchange.id == id else { return }
        let failure = HTTPFailure(status: status, reason: reason, requestID: exchange.requestID)
        var response = edge.delegate.response(to: failure)
        for header in headers { response.headers.add(header.name, header.value) }
        answer(id, with: response)
    }

    // MARK: Time

    private func setDeadline() {
        let progress = parser.progress
        guard deadline == nil || progress != awaited else { return }
        awaited = progress
        let timeout =
            switch progress {
            case .idle: edge.configuration.idleTimeout
            case .head: edge.configuration.headTimeout
            case .body: edge.configuration.bodyTimeout
            }
        deadline = edge.loop.now + timeout
        // Sooner, to see whether the last answer is being taken.
        timer?.rearm(after: min(timeout, edge.configuration.writeTimeout))
    }

    private func timerFired() {
        let now = LoopInstant.now()
        if let stalled = channel.stalledSince {
            let left = edge.configuration.writeTimeout - (now - stalled)
            if left > .zero {
                timer?.rearm(after: left)
            } else {
                edge.counters.slowCloses.add(1)
                channel.abort()
            }
        } else if let deadline {
            if deadline > now {
                timer?.rearm(after: deadline - now)
            } else if awaited == .idle || !hasReceived {
                channel.close()
            } else {
                fail(open(nil), status: 408, reason: "the request took too long")
            }
        }
    }

    /// How long a connection that was just accepted may take to show its first request, when the server drains.
    private static let drainGrace: Duration = .milliseconds(100)

    /// Closes if no request is open. One that is, or has begun to come, is answered first; nothing keeps alive after it.
    func drain() {
        guard exchange == nil else { return }
        if !hasReceived {
            deadline = .now() + Self.drainGrace
            timer?.rearm(after: Self.drainGrace)
        } else if parser.progress == .idle {
            channel.close()
        }
    }
}
