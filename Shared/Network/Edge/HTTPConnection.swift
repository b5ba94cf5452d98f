import HTTP
import Reactor

/// One HTTP connection: takes its requests one after the other, and answers each before the next is looked at.
///
/// What a client can make this hold is bounded: no request is taken while it has not read the answers to those before, nor more than a
/// few in a turn, and what is buffered is counted (`EdgeLimits`).
final class HTTPConnection: ChannelHandler, Waiting {
    /// The most bytes that a client may pipeline while its request is answered; beyond it, reading stops.
    private static let maxPipelinedBytes = 64 * 1024
    /// What of its answers a client may leave unread, and still have its next request taken.
    private static let maxUnreadCost = 64 * 1024
    /// What is received of a body at a time, until it is known that a large one is to be taken. The buffers of a thousand connections that
    /// have sent as much as they can are then read in a few milliseconds, and not in a hundred.
    private static let portion = 16 * 1024
    /// Requests of one connection that are taken in a turn, before others have theirs.
    private static let maxRequestsPerTurn = 16

    let channel: Channel
    let edge: EdgeLoop
    private var parser: HTTPRequestParser
    /// The request that is being answered.
    private var exchange: HTTPExchange?
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

    private var hasReceived = false
    private var deadline = HTTPDeadline()
    /// Of answers that are written and not yet in the kernel's hands.
    private var whenTaken: [() -> Void] = []

    /// Whose connection it is counted as; nil for a trusted proxy's.
    let countedAddress: IPAddress?
    private var isProxys: Bool { countedAddress == nil }
    private var buffer: HTTPBuffer
    var link = WaitingLink<HTTPConnection>()

    /// - Parameter parser: what has come already, on another loop.
    init(_ channel: Channel, edge: EdgeLoop, parser: HTTPRequestParser? = nil) {
        self.channel = channel
        self.edge = edge
        countedAddress = edge.configuration.countedAddress(of: channel.peer.ip)
        buffer = HTTPBuffer(of: channel.peer.ip, countedAs: countedAddress, edge: edge)
        self.parser = parser ?? HTTPRequestParser(limits: edge.configuration.http)
        channel.receive(atMost: EdgeLimits.smallBuffer)
        deadline.start(after: edge.configuration.headTimeout, on: edge.loop) { [unowned self] in timerFired() }
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
        if exchange == nil { buffer.end() }
        // Less is granted, or stays counted as before (`ClientUsage.changeBuffer`).
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
        noteTaken()
        deadline.cancel()
        buffer.release()
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
        return buffer.count(
            unread: channel.isStalled ? channel.pendingCost : 0,
            taken: parser.heldBytes(with: held) + (exchange?.bytes ?? 0),
            coming: exchange == nil ? parser.unfinished ?? held?.request : nil)
    }

    /// Its request belongs to a socket that has connected.
    func note(_ standing: ClientUsage.Standing) { buffer.note(standing) }

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
        var interval = edge.shares.begin(for: countedAddress, received: received)
        do throws(HTTPParseError) {
            while left > 0, exchange == nil, !isReleased, channel.isOpen, !isUnread, let event = try next(in: &interval)
            {
                switch event {
                case .request(let request):
                    left -= 1
                    admit(request)?.serve()
                case .largeBody(let request): admit(request)?.askForBody()
                case .continueExpected: channel.write(HTTPResponse.continueBytes)
                case .bodyTooLarge(let request):
                    left -= 1
                    if let id = admit(request)?.exchange { fail(id, status: 413, reason: "the body is too large") }
                case .drained: break
                }
            }
        } catch {
            fail(open(nil), status: error.status, reason: error.reason)
        }
        if exchange == nil, !isReleased {
            deadline.set(for: parser.progress, on: edge, isStalled: channel.isStalled)
        }
        if isProxys, held == nil { interval.pass(to: nil) }
        let goesOn = interval.goesOn()
        if isReleased { return }
        // Of whoever has had their share, nothing more is received either.
        if !goesOn {
            rest { edge.shares.wait(for: interval.address, $0) }
        } else if left == 0, parser.bufferedBytes > 0 {
            rest { edge.loop.inNextTurn($0) }
        }
        closeIfFinished()
        channel.receive(atMost: portion)
        let isBusy = exchange != nil
        if isResting || (isBusy || isUnread) && parser.bufferedBytes > (isBusy ? Self.maxPipelinedBytes : 0) {
            channel.pauseReading()
        } else {
            channel.resumeReading()
        }
    }

    /// How much to receive before looking at it. While somebody waits for their share of the loop's time, no more of a head is kept than
    /// anybody may have: so nobody is refused for it.
    private var portion: Int {
        if parser.isTakingLargeBody { return .max }
        return parser.progress == .body ? Self.portion : EdgeLimits.smallBuffer
    }

    /// What has come next, if whoever it is of has something left of their share.
    private func next(in interval: inout TimeShares.Interval) throws(HTTPParseError) -> HTTPEvent? {
        // To drop what has come takes no time, and to keep it takes memory.
        guard isProxys else { return interval.goesOn() || parser.isDropping ? try parser.next() : nil }
        // Whose it is only the request says: the next one may be another's.
        interval.pass(to: nil)
        let found = if let event = held.take() { event } else { try parser.next() }
        guard let event = found, let request = event.request else { return found }
        interval.pass(to: client(of: request).subscriber)
        if interval.goesOn() { return event }
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

    /// - Returns: nil if its client has asked too often, and was answered that.
    private func admit(_ request: HTTPRequest) -> IncomingRequest? {
        let incoming = incoming(request)
        // It was counted when its body was asked about.
        if isRequestCounted {
            isRequestCounted = false
            return incoming
        }
        return incoming.isAdmitted() ? incoming : nil
    }

    private func incoming(_ request: HTTPRequest) -> IncomingRequest {
        let endpoint = edge.endpoint(at: request.path)
        let configuration = edge.configuration
        let isShared = endpoint != nil || configuration.isShared(request.path)
        let id = open(request, originFields: isShared ? configuration.allowedOrigins.fields(for: request) : [:])
        return IncomingRequest(request: request, connection: self, exchange: id, endpoint: endpoint)
    }

    /// Goes on with the request, whose body was asked about.
    func takeBody(_ id: Int) {
        close(exchange: id)
        isRequestCounted = true
        parser.takeBody()
    }

    func refuseBody(_ id: Int, with response: HTTPResponse) {
        // Who sends too much is not waited for.
        if response.status == 429 || !parser.dropBody() { endKeepAlive(id) }
        answer(id, with: response)
    }

    func client(of request: HTTPRequest) -> IPAddress {
        edge.configuration.client(of: request, from: channel.peer.ip)
    }

    /// Goes on with a request that came in on another loop, and was counted there. Before anything else is received here.
    ///
    /// - Parameter isWhole: false for one whose body is asked about.
    func resume(with request: HTTPRequest, isWhole: Bool) {
        hasReceived = true
        let incoming = incoming(request)
        // At the end of the turn the channel has this connection as its handler, which an upgrade then replaces.
        edge.loop.atEndOfTurn { [self] in
            // It may have been closed since: a successor on its channel would never hear of that.
            guard exchange?.id == incoming.exchange, channel.isOpen, incoming.endpoint != nil else { return }
            if isWhole { incoming.serve() } else { incoming.askForBody() }
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

    private func open(_ request: HTTPRequest?, originFields: HTTPHeaders = [:]) -> Int {
        if isReleased { return 0 }
        exchangeCount += 1
        deadline.end()
        edge.noteBusy(self)
        // What is still unread is an earlier answer's.
        buffer.begin(request, isUnread: channel.pendingCost > 0)
        exchange = HTTPExchange(
            id: exchangeCount, requestID: RequestID.of(request, randomness: edge.randomness),
            keepsAlive: request?.keepAlive ?? false, isHead: request?.method == "HEAD",
            originFields: originFields,
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

    func responder(_ id: Int) -> HTTPResponder {
        HTTPResponder(LoopBound(self, to: edge.loop), exchange: id, requestID: requestID)
    }

    /// Of the request that is being answered.
    var requestID: String { exchange?.requestID ?? "" }

    /// Keeps the request as its session's GET until it is answered.
    func hold(_ id: Int, for session: EngineConnection) {
        if exchange?.id == id { exchange?.poll = session }
    }

    /// Its answer is the connection's last.
    func endKeepAlive(_ id: Int) {
        if exchange?.id == id { exchange?.keepsAlive = false }
    }

    func answer(_ id: Int, with response: HTTPResponse, whenTaken: (() -> Void)? = nil) {
        guard let answered = exchange, answered.id == id else { return whenTaken?() ?? () }
        if let whenTaken { self.whenTaken.append(whenTaken) }
        close(exchange: id)
        let keepsAlive = answered.keepsAlive && !edge.isDraining
        for piece in answered.encode(response, keepsAlive: keepsAlive, date: edge.httpDate) { channel.write(piece) }
        // Who has read nothing since gets no more time by asking for more.
        if !channel.isStalled { deadline.look(after: edge.configuration.writeTimeout) }
        guard keepsAlive else { return channel.close() }
        process()
        // Less is granted, or stays counted as before (`ClientUsage.changeBuffer`).
        _ = countBytes()
    }

    func fail(_ id: Int, status: Int, reason: String, headers: [(name: String, value: String)] = []) {
        guard exchange?.id == id else { return }
        var response = edge.delegate.response(
            to: HTTPFailure(status: status, reason: reason, requestID: requestID))
        for header in headers { response.headers.add(header.name, header.value) }
        answer(id, with: response)
    }

    // MARK: Time

    private func timerFired() {
        switch deadline.fired(stalledSince: channel.stalledSince, writeTimeout: edge.configuration.writeTimeout) {
        case .notYet: break
        case .notRead: cutOff()
        // What has come may be a whole request that waits for its client's share.
        case .notSent where isResting && deadline.extend(): break
        case .notSent(.idle): channel.close()
        case .notSent where !hasReceived: channel.close()
        case .notSent: fail(open(nil), status: 408, reason: "the request took too long")
        }
    }

    /// How long a connection that was just accepted may take to show its first request, when the server drains.
    private static let drainGrace: Duration = .milliseconds(100)

    /// Closes if no request is open. One that is, or has begun to come, is answered first; nothing keeps alive after it.
    func drain() {
        guard exchange == nil, held == nil else { return }
        if !hasReceived {
            deadline.shorten(to: Self.drainGrace)
        } else if parser.progress == .idle {
            channel.close()
        }
    }
}
