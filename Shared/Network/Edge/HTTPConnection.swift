import HTTP
import Reactor

/// One HTTP connection: takes its requests one after the other, and answers each before the next is looked at.
///
/// What a client can make this hold is bounded: no request is taken while it has not read the answers to those before, nor more than a
/// few in a turn, and what is buffered is counted (`EdgeLimits`).
final class HTTPConnection: ChannelHandler, Waiting {
    /// The request that is being answered.
    private struct Exchange {
        let id: Int
        let requestID: String
        var keepsAlive: Bool
        let isHead: Bool
        let allowsAnyOrigin: Bool
        /// Of its head and body, which whoever answers holds.
        let bytes: Int
        /// The session that holds it as its GET.
        var poll: EngineConnection?
    }

    /// What a client may send ahead while its request is answered; then it is no longer read from.
    private static let maxPipelinedBytes = 64 * 1024
    /// What of its answers a client may leave unread, and still have its next request taken.
    private static let maxUnreadCost = 64 * 1024
    /// Requests of one connection that are taken in a turn, before others have theirs.
    private static let maxRequestsPerTurn = 16

    let channel: Channel
    let edge: EdgeLoop
    private var parser: HTTPRequestParser
    private var exchange: Exchange?
    private var exchangeCount = 0
    private var isProcessing = false
    /// What has come and is not looked at yet, as whose it is has had their share. Only a proxy's connection has one.
    private var held: HTTPEvent?
    /// It has had its share for now, and goes on by itself.
    private var isResting = false
    /// The client sends nothing more.
    private var isFinished = false
    /// The channel is another's now, or has gone: nothing of this is to be counted or listed any more.
    private var isReleased = false
    /// The request whose body is under way was counted for its client's rate when its body was asked about.
    private var isRequestCounted = false

    private var timer: LoopTimer?
    /// What the time-out is about. A connection that just opened has to send its first request.
    private var awaited = HTTPRequestParser.Progress.head
    private var hasReceived = false
    /// Ends what is awaited; nil while a request is answered.
    private var deadline: LoopInstant?
    /// Of answers that are written and not yet in the kernel's hands.
    private var whenTaken: [() -> Void] = []

    /// Whose connection it is counted as; nil for a trusted proxy's.
    let countedAddress: IPAddress?
    private var isProxys: Bool { countedAddress == nil }
    private var counted = ClientUsage.Buffered()
    /// The request that is being answered, without its body, or was last, while its answer has not gone out.
    private var latest: HTTPRequest?
    /// Whether the one whom `counted` is for is known; nil while that made no difference.
    private var isKnown: Bool?
    var place = WaitingPlace<HTTPConnection>()

    /// - Parameter parser: what has come already, on another loop.
    init(_ channel: Channel, edge: EdgeLoop, parser: HTTPRequestParser? = nil) {
        self.channel = channel
        self.edge = edge
        countedAddress = edge.configuration.countedAddress(of: channel.peer.ip)
        self.parser = parser ?? HTTPRequestParser(limits: edge.configuration.http)
        deadline = edge.loop.now + edge.configuration.headTimeout
        timer = edge.loop.schedule(after: edge.configuration.headTimeout) { [unowned self] in timerFired() }
        noteWaiting()
    }

    // MARK: From the channel

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        hasReceived = true
        parser.append(bytes)
        goOn(received: bytes.count)
    }

    /// Takes what has come, and counts what is left of it.
    private func goOn(received: Int = 0) {
        process(received: received)
        if !countBytes() { refuseBytes() }
    }

    func channelDidStall(_ channel: Channel) {
        if !countBytes() { cutOff() }
    }

    func channelDidDrain(_ channel: Channel) {
        if exchange == nil { (latest, isKnown) = (nil, nil) }
        // Less is always granted.
        _ = countBytes()
        noteTaken()
        process()
    }

    func channelPeerDidFinish(_ channel: Channel) {
        isFinished = true
        // Half-closed by a client that still wants its answers; but one that polls has gone.
        if exchange?.poll != nil { channel.close() } else { closeIfFinished() }
    }

    private func closeIfFinished() {
        if isFinished, exchange == nil, !isResting, !isUnread { channel.close() }
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {
        let poll = exchange?.poll
        release()
        poll?.pollLost()
    }

    private func noteTaken() {
        guard !whenTaken.isEmpty else { return }
        let taken = whenTaken
        whenTaken = []
        for call in taken { call() }
    }

    /// - Parameter goesOn: whether the connection does, on another loop or as a WebSocket.
    private func release(goesOn: Bool = false) {
        isReleased = true
        exchange = nil
        latest = nil
        noteTaken()
        timer?.cancel()
        timer = nil
        _ = edge.count(0, of: nil, in: &counted, as: .stranger)
        edge.forget(self, goesOn: goesOn)
    }

    /// Closes at once, as others want its place and it has nothing under way.
    func giveWay() {
        release()
        channel.abort()
    }

    /// A trusted proxy's connections are others', and stay.
    private func noteWaiting() {
        if !isProxys, !isReleased { edge.noteWaiting(self) }
    }

    // MARK: What is buffered

    /// - Returns: false if it is more than the client may have.
    private func countBytes() -> Bool {
        // The channel is not this connection's then.
        if isReleased { return true }
        let unread = channel.isStalled ? channel.pendingCost : 0
        let taken = parser.heldBytes + (exchange?.bytes ?? 0) + heldBytes
        return edge.count(
            unread + taken, of: countedClient, in: &counted, as: standing(unread: unread, taken: taken))
    }

    private var heldBytes: Int {
        switch held {
        case .request(let request), .bodyTooLarge(let request): parser.lastHeadBytes + request.body.count
        // The parser has it still.
        case .largeBody, .continueExpected, .drained, nil: 0
        }
    }

    /// The request that most of what is buffered belongs to; nil while its head has not come.
    private var subject: HTTPRequest? { exchange != nil ? latest : parser.unfinished ?? held?.request ?? latest }

    /// Whose share it is of. What comes through a proxy is nobody's until a head says whose it is.
    private var countedClient: IPAddress? {
        isProxys ? subject.map { client(of: $0).subscriber } : countedAddress
    }

    private func standing(unread: Int, taken: Int) -> ClientUsage.Standing {
        if isKnown == nil, unread + taken > EdgeLimits.smallBuffer, let subject {
            let endpoint = edge.endpoint(at: subject.path)
            isKnown = endpoint.map { isConnected(subject, at: $0) } ?? edge.delegate.isSignedIn(subject)
        }
        guard isKnown == true else { return .stranger }
        // An answer that was made for somebody who may have it is not to end in its middle because others have much.
        let isReading = taken <= EdgeLimits.smallBuffer && unread <= edge.configuration.maxPendingBytes
        return isReading ? .reader : .known
    }

    /// Its request belongs to a socket that has connected.
    func noteConnected() { isKnown = true }

    private func refuseBytes() {
        if isReleased { return }
        guard exchange == nil, channel.isOpen else { return cutOff() }
        fail(
            open(nil), status: 503, reason: "too much is being sent", headers: [("Retry-After", HTTPFailure.retryAfter)]
        )
    }

    /// Closes at once, as the client does not read.
    private func cutOff() {
        edge.counters.slowCloses.add(1)
        channel.abort()
    }

    // MARK: Requests

    private func process(received: Int = 0) {
        guard !isProcessing, !isResting, !isReleased else { return }
        isProcessing = true
        defer { isProcessing = false }
        var left = Self.maxRequestsPerTurn
        var spell = edge.shares.begin(for: countedAddress, received: received)
        do throws(HTTPParseError) {
            while left > 0, exchange == nil, !isReleased, channel.isOpen, !isUnread, let event = try next(in: &spell) {
                switch event {
                case .request(let request):
                    left -= 1
                    begin(request)
                case .largeBody(let request): ask(about: request)
                case .continueExpected: channel.write(HTTPResponse.continueBytes)
                case .bodyTooLarge(let request):
                    left -= 1
                    let id = open(request)
                    if mayAsk(request, exchange: id) { fail(id, status: 413, reason: "the body is too large") }
                case .drained: break
                }
            }
        } catch {
            fail(open(nil), status: error.status, reason: error.reason)
        }
        if exchange == nil, !isReleased { setDeadline() }
        if isProxys, held == nil { spell.pass(to: nil) }
        let goesOn = spell.goesOn()
        if isReleased { return }
        // Of whoever has had their share, nothing more is received either.
        if !goesOn {
            rest { edge.shares.wait(for: spell.address, $0) }
        } else if left == 0, parser.bufferedBytes > 0 {
            rest { edge.loop.inNextTurn($0) }
        }
        closeIfFinished()
        let isBusy = exchange != nil
        if isResting || (isBusy || isUnread) && parser.bufferedBytes > (isBusy ? Self.maxPipelinedBytes : 0) {
            channel.pauseReading()
        } else {
            channel.resumeReading()
        }
    }

    /// What has come next, if whoever it is of has something left of their share.
    private func next(in spell: inout TimeShares.Spell) throws(HTTPParseError) -> HTTPEvent? {
        guard isProxys else { return spell.goesOn() ? try parser.next() : nil }
        // Whose it is only the request says: the next one may be another's.
        spell.pass(to: nil)
        let found = if let event = held.take() { event } else { try parser.next() }
        guard let event = found, let request = event.request else { return found }
        spell.pass(to: client(of: request).subscriber)
        if spell.goesOn() { return event }
        held = event
        return nil
    }

    /// The client has not read what it was answered.
    private var isUnread: Bool { channel.pendingCost > Self.maxUnreadCost }

    private func rest(until wakeUp: (@escaping () -> Void) -> Void) {
        isResting = true
        wakeUp { [self] in
            isResting = false
            goOn()
        }
    }

    /// A body is larger than what anyone may send.
    private func ask(about request: HTTPRequest) {
        let id = open(request)
        guard mayAsk(request, exchange: id) else { return }
        ask(about: request, at: edge.endpoint(at: request.path), exchange: id)
    }

    private func ask(about request: HTTPRequest, at endpoint: ServedEndpoint?, exchange id: Int) {
        let response: HTTPResponse?
        if let endpoint {
            // Who has connected is seen where the session is.
            if let loop = sessionLoop(of: request), loop != edge.loop.index {
                return edge.move(self, with: request, isWhole: false, to: loop)
            }
            let isTaken = mayHaveLargeBody(request, at: endpoint)
            response = isTaken ? nil : edge.delegate.response(to: failure(413, "log in before sending so much"))
        } else {
            response = edge.delegate.refusal(ofLargeBody: request, from: client(of: request), requestID: requestID)
        }
        guard let response else {
            close(exchange: id)
            isRequestCounted = true
            return parser.takeBody()
        }
        // Who sends too much is not waited for.
        if response.status == 429 || !parser.dropBody() { exchange?.keepsAlive = false }
        answer(id, with: response)
    }

    /// Counts a request, once, whatever comes of it.
    ///
    /// - Returns: false if its client has asked too often, and was told so.
    private func mayAsk(_ request: HTTPRequest, exchange id: Int) -> Bool {
        if isRequestCounted {
            isRequestCounted = false
            return true
        }
        edge.counters.requests.add(1)
        // A balancer takes a gateway whose health checks are refused for one that is down, and cuts off all who are on it.
        if edge.configuration.isProxysOwn(request, from: channel.peer.ip) { return true }
        guard let wait = edge.delegate.secondsToWait(of: client(of: request)) else { return true }
        exchange?.keepsAlive = false
        fail(
            id, status: 429, reason: "there are too many requests from this address",
            headers: [("Retry-After", String(wait))])
        return false
    }

    private func begin(_ request: HTTPRequest) {
        let endpoint = edge.endpoint(at: request.path)
        let id = open(request, allowsAnyOrigin: endpoint?.settings.allowsAnyOrigin ?? false)
        guard mayAsk(request, exchange: id) else { return }
        if let endpoint {
            serve(request, at: endpoint, exchange: id)
        } else {
            edge.delegate.respond(to: request, from: client(of: request), using: responder(id))
        }
    }

    func client(of request: HTTPRequest) -> IPAddress {
        edge.configuration.client(of: request, from: channel.peer.ip)
    }

    /// Goes on with a request that came in on another loop, and was counted there. Before anything else is received here.
    ///
    /// - Parameter isWhole: false for one whose body is asked about.
    func resume(with request: HTTPRequest, isWhole: Bool) {
        hasReceived = true
        let endpoint = edge.endpoint(at: request.path)
        let id = open(request, allowsAnyOrigin: endpoint?.settings.allowsAnyOrigin ?? false)
        // At the end of the turn the channel has this connection as its handler, which an upgrade then replaces.
        edge.loop.atEndOfTurn { [self] in
            // It may have been closed since: a successor on its channel would never hear of that.
            guard exchange?.id == id, channel.isOpen, let endpoint else { return }
            if isWhole {
                serve(request, at: endpoint, exchange: id)
            } else {
                ask(about: request, at: endpoint, exchange: id)
            }
            goOn()
        }
    }

    /// Gives the connection up to another loop, with what has come and was not taken. nil if it is closed.
    func detach() -> (DetachedConnection, HTTPRequestParser)? {
        guard let detached = channel.detach() else { return nil }
        var parser = HTTPRequestParser(limits: edge.configuration.http)
        swap(&parser, &self.parser)
        release(goesOn: true)
        return (detached, parser)
    }

    /// Ends HTTP on this connection with the head of a 101, and gives what has come after the request.
    func upgrade(with response: [UInt8]) -> [UInt8] {
        channel.write(response)
        let received = parser.takeRemaining()
        release(goesOn: true)
        return received
    }

    private func open(_ request: HTTPRequest?, allowsAnyOrigin: Bool = false) -> Int {
        if isReleased { return 0 }
        exchangeCount += 1
        deadline = nil
        edge.noteBusy(self)
        // What is still unread is an earlier answer's.
        if channel.pendingCost == 0 || isKnown == false { isKnown = nil }
        latest = request
        latest?.body = []
        exchange = Exchange(
            id: exchangeCount, requestID: RequestID.of(request, randomness: edge.randomness),
            keepsAlive: request?.keepAlive ?? false, isHead: request?.method == "HEAD",
            allowsAnyOrigin: allowsAnyOrigin,
            bytes: request.map { parser.lastHeadBytes + $0.body.count } ?? 0)
        return exchangeCount
    }

    /// The request is answered, or is none that is to be answered.
    private func close(exchange id: Int) {
        guard exchange?.id == id else { return }
        exchange = nil
        noteWaiting()
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

    func answer(_ id: Int, with response: HTTPResponse, whenTaken: (() -> Void)? = nil) {
        guard let answered = exchange, answered.id == id else { return whenTaken?() ?? () }
        if let whenTaken { self.whenTaken.append(whenTaken) }
        close(exchange: id)
        var response = response
        response.headers.add(RequestID.header, answered.requestID)
        if answered.allowsAnyOrigin { response.headers.add("Access-Control-Allow-Origin", "*") }
        let keepsAlive = answered.keepsAlive && !edge.isDraining
        for piece in response.encode(keepAlive: keepsAlive, headOnly: answered.isHead, date: edge.httpDate) {
            channel.write(piece)
        }
        // Who has read nothing since gets no more time by asking for more.
        if !channel.isStalled { timer?.rearm(after: edge.configuration.writeTimeout) }
        guard keepsAlive else { return channel.close() }
        process()
        // Less is always granted.
        _ = countBytes()
    }

    func fail(_ id: Int, status: Int, reason: String, headers: [(name: String, value: String)] = []) {
        guard exchange?.id == id else { return }
        var response = edge.delegate.response(to: failure(status, reason))
        for header in headers { response.headers.add(header.name, header.value) }
        answer(id, with: response)
    }

    private func failure(_ status: Int, _ reason: String) -> HTTPFailure {
        HTTPFailure(status: status, reason: reason, requestID: requestID)
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
        // Sooner, to see whether the last answer is being taken; but not later than that is looked at anyway.
        if !channel.isStalled { timer?.rearm(after: min(timeout, edge.configuration.writeTimeout)) }
    }

    private func timerFired() {
        let now = LoopInstant.now()
        if let stalled = channel.stalledSince {
            let left = edge.configuration.writeTimeout - (now - stalled)
            if left > .zero {
                timer?.rearm(after: left)
            } else {
                cutOff()
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
        guard exchange == nil, held == nil else { return }
        if !hasReceived {
            deadline = .now() + Self.drainGrace
            timer?.rearm(after: Self.drainGrace)
        } else if parser.progress == .idle {
            channel.close()
        }
    }
}
