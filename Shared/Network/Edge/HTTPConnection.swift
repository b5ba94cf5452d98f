import ParlorHTTP
import ParlorReactor

/// An HTTP connection. It processes requests one after the other, and answers each before it looks at the next.
///
/// The memory and time that a client can use are bounded: no request is taken while earlier answers are unread, a turn
/// takes only a few, and buffered bytes are counted (`EdgeLimits`).
final class HTTPConnection: ChannelHandler, Waiting {
    /// The most bytes that a client may pipeline while its request is answered; beyond it, reading stops.
    private static let maxPipelinedBytes = 64 * 1024
    /// The limit of unread output. Beyond it, the client's next request is not taken.
    private static let maxUnreadCost = 64 * 1024
    /// The number of bytes of a body that are received at a time, until a large body has been accepted. With a thousand
    /// connections whose input is full, a turn then reads for a few milliseconds, not for a hundred.
    private static let portion = 16 * 1024
    /// The number of requests of one connection that are taken in a turn, before other connections have theirs.
    private static let maxRequestsPerTurn = 16

    let channel: Channel
    let edge: EdgeLoop
    private var parser: HTTPRequestParser
    /// The request that is being answered.
    private var exchange: HTTPExchange?
    private var exchangeCount = 0
    private var isProcessing = false
    private var input: FairInput
    /// True while the connection waits for its share of the loop's time. It then continues by itself.
    private var isResting = false
    /// True once the client sends nothing more.
    private var isFinished = false
    /// True once the channel has another handler or has closed. The connection must not be counted or listed any more.
    private var isReleased = false
    /// True if the arriving request was counted for its client's rate already, before its large body was accepted.
    private var isRequestCounted = false
    private var hasReceived = false
    private var deadline = HTTPDeadline()
    /// The completions of answers that are written but not yet taken by the kernel.
    private var whenTaken: [() -> Void] = []

    /// The address that this connection counts for, or nil for a trusted proxy's.
    let countedAddress: IPAddress?
    private var isProxys: Bool { countedAddress == nil }
    private var buffer: HTTPBuffer
    var link = WaitingLink<HTTPConnection>()

    /// - Parameter parser: the parser with the bytes that arrived on another loop.
    init(_ channel: Channel, edge: EdgeLoop, parser: HTTPRequestParser? = nil) {
        self.channel = channel
        self.edge = edge
        countedAddress = edge.configuration.countedAddress(of: channel.peer.ip)
        buffer = HTTPBuffer(of: channel.peer.ip, countedAs: countedAddress, edge: edge)
        input = FairInput(from: channel.peer.ip, countedAs: countedAddress, edge.configuration)
        self.parser = parser ?? HTTPRequestParser(limits: edge.configuration.http)
        channel.setOutputGate(edge.configuration.outputGate)
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

    /// Processes the received bytes, and counts the rest.
    private func goOn(received: Int = 0) {
        process(received: received)
        if !countBytes() { refuseBytes() }
    }

    func channelDidStall(_ channel: Channel) {
        if !countBytes() { return cutOff() }
        // A person who is reading a long answer is not evicted in the middle of it.
        if buffer.noteStall() { edge.noteBusy(self) }
    }

    func channelDidDrain(_ channel: Channel) {
        if exchange == nil { buffer.end() }
        if buffer.noteDrain(), exchange == nil { noteWaiting() }
        // A decrease is never refused, and a refusal keeps the previous count (`ClientUsage.changeBuffer`).
        _ = countBytes()
        noteTaken()
        process()
    }

    func channelPeerDidFinish(_ channel: Channel) {
        isFinished = true
        // A half-closed connection may still want its answers, but a polling client has gone.
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

    /// - Parameter goesOn: true if the connection continues, on another loop or as a WebSocket.
    private func release(goesOn: Bool = false) {
        isReleased = true
        exchange = nil
        noteTaken()
        deadline.cancel()
        buffer.release()
        edge.forget(self, goesOn: goesOn)
    }

    /// Closes at once in favour of a new connection, as no request is in progress.
    func giveWay() {
        release()
        channel.abort()
    }

    /// Records that the connection waits. A trusted proxy's connections carry other people's requests, and are never
    /// evicted.
    private func noteWaiting() {
        if !isProxys, !isReleased, !buffer.isBeingRead { edge.noteWaiting(self) }
    }

    // MARK: Buffered bytes

    /// - Returns: false if it is more than the client may have.
    private func countBytes() -> Bool {
        // A released connection counts nothing: its channel has another handler.
        if isReleased { return true }
        return buffer.count(
            unread: channel.isStalled ? channel.unsentCost : 0,
            taken: parser.heldBytes(with: input.held) + (exchange?.bytes ?? 0),
            coming: exchange == nil ? parser.unfinished ?? input.held?.request : nil)
    }

    /// Records that the request belongs to a connected socket.
    func note(_ standing: ClientUsage.Standing) { buffer.note(standing) }

    private func refuseBytes() {
        if isReleased { return }
        guard exchange == nil, channel.isOpen else { return cutOff() }
        fail(open(nil), status: 503, reason: "too much is being sent", retryAfter: HTTPFailure.pauseWhenFull)
    }

    /// Closes at once: the client does not read, or sends too much before an answer.
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
            while left > 0, exchange == nil, !isReleased, channel.isOpen, !isUnread,
                let event = try input.next(from: &parser, in: &interval)
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
        input.end(&interval, parser)
        let goesOn = interval.goesOn()
        if isReleased { return }
        // When a client has used its share, stop receiving from it too.
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

    /// The number of bytes to receive before they are parsed. Heads and dropped chunks arrive in pieces of
    /// `smallBuffer` bytes, which every client may buffer. So no client is refused while it waits for its share of the
    /// loop's time.
    private var portion: Int {
        if parser.isTakingLargeBody { return .max }
        return parser.progress == .body && !parser.isDroppingChunks ? Self.portion : EdgeLimits.smallBuffer
    }

    /// True if the client has not read its answers.
    private var isUnread: Bool { channel.unsentCost > Self.maxUnreadCost }

    private func rest(until wakeUp: (@escaping () -> Void) -> Void) {
        isResting = true
        // The wait may outlast the connection.
        wakeUp { [weak self] in
            self?.isResting = false
            self?.goOn()
        }
    }

    /// - Returns: nil if the client exceeded its rate; it has been answered then.
    private func admit(_ request: HTTPRequest) -> IncomingRequest? {
        let incoming = incoming(request)
        // It was counted before its large body was accepted.
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

    /// Takes the large body of this request, and continues with it.
    func takeBody(_ id: Int) {
        close(exchange: id)
        isRequestCounted = true
        parser.takeBody()
    }

    func refuseBody(_ id: Int, with response: HTTPResponse) {
        // Do not wait for the body of a client that sends too much.
        if response.status == 429 || !parser.dropBody() { endKeepAlive(id) }
        answer(id, with: response)
    }

    func client(of request: HTTPRequest) -> IPAddress {
        edge.configuration.client(of: request, from: channel.peer.ip)
    }

    /// Resumes a request that arrived, and was counted, on another loop. To be called before anything else is received
    /// here.
    ///
    /// - Parameter isWhole: false if it is not decided yet whether to take its large body.
    func resume(with request: HTTPRequest, isWhole: Bool) {
        hasReceived = true
        input.note(request)
        let incoming = incoming(request)
        // At the end of the turn the channel has this connection as its handler, which an upgrade can then replace.
        edge.loop.atEndOfTurn { [self] in
            edge.shares.perform(for: client(of: request).subscriber) { [self] in
                // The channel may have closed since, and a new handler on it would never be informed.
                guard isAnswering(incoming.exchange), channel.isOpen, incoming.endpoint != nil else { return }
                if isWhole { incoming.serve() } else { incoming.askForBody() }
                goOn()
            }
        }
    }

    /// Hands the connection over to another loop, with the unprocessed input. Returns nil if it is closed.
    func detach() -> (DetachedConnection, HTTPRequestParser)? {
        guard let detached = channel.detach() else { return nil }
        var parser = HTTPRequestParser(limits: edge.configuration.http)
        swap(&parser, &self.parser)
        release(goesOn: true)
        return (detached, parser)
    }

    /// Ends HTTP on this connection with the head of a 101, and returns the bytes that came after the request.
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
        // The unread bytes belong to an earlier answer.
        buffer.begin(request, isUnread: channel.unsentCost > 0)
        exchange = HTTPExchange(
            id: exchangeCount, requestID: RequestID.of(request, randomness: edge.randomness),
            keepsAlive: request?.keepAlive ?? false, isHead: request?.method == "HEAD",
            originFields: originFields,
            bytes: request.map { parser.lastHeadBytes + $0.body.count } ?? 0)
        return exchangeCount
    }

    /// Ends the exchange: the request is answered, or must not be answered.
    private func close(exchange id: Int) {
        guard isAnswering(id) else { return }
        exchange = nil
        noteWaiting()
    }

    // MARK: Answers

    func responder(_ id: Int) -> HTTPResponder {
        HTTPResponder(LoopBound(self, to: edge.loop), exchange: id, requestID: requestID)
    }

    /// The id of the request that is being answered.
    var requestID: String { exchange?.requestID ?? "" }

    func isAnswering(_ id: Int) -> Bool { exchange?.id == id }

    /// Stops counting the request's bytes: its session holds and counts them now.
    func handOver(_ id: Int) {
        guard isAnswering(id) else { return }
        exchange?.bytes = 0
        _ = countBytes()
    }

    /// Holds the request as its session's GET until it is answered.
    func hold(_ id: Int, for session: EngineConnection) {
        if isAnswering(id) { exchange?.poll = session }
    }

    /// Makes the answer to this request the connection's last.
    func endKeepAlive(_ id: Int) {
        if isAnswering(id) { exchange?.keepsAlive = false }
    }

    func answer(_ id: Int, with response: HTTPResponse, whenTaken: (() -> Void)? = nil) {
        guard let answered = exchange, answered.id == id else { return whenTaken?() ?? () }
        if let whenTaken { self.whenTaken.append(whenTaken) }
        close(exchange: id)
        let keepsAlive = answered.keepsAlive && !edge.isDraining
        for piece in answered.encode(response, keepsAlive: keepsAlive, date: edge.httpDate) { channel.write(piece) }
        // A client that has stopped reading must not gain time by sending another request.
        if !channel.isStalled { deadline.look(after: edge.configuration.writeTimeout) }
        guard keepsAlive else { return channel.close() }
        process()
        // A decrease is never refused, and a refusal keeps the previous count (`ClientUsage.changeBuffer`).
        _ = countBytes()
    }

    func fail(
        _ id: Int, status: Int, reason: String, retryAfter: Int? = nil, headers: [(name: String, value: String)] = []
    ) {
        guard isAnswering(id) else { return }
        let failure = HTTPFailure(status: status, reason: reason, requestID: requestID, retryAfter: retryAfter)
        var response = edge.response(to: failure)
        for header in headers { response.headers.add(header.name, header.value) }
        answer(id, with: response)
    }

    // MARK: Time

    private func timerFired() {
        switch deadline.fired(stalledSince: channel.stalledSince, writeTimeout: edge.configuration.writeTimeout) {
        case .notYet: break
        case .notRead: cutOff()
        // The buffered input may be a whole request that waits for its client's share.
        case .notSent where isResting && deadline.extend(): break
        case .notSent(.idle): channel.close()
        case .notSent where !hasReceived: channel.close()
        case .notSent: fail(open(nil), status: 408, reason: "the request took too long")
        }
    }

    /// Closes if no request is open. A request that has begun to arrive is answered first, and its answer ends the
    /// connection. A new connection without a byte gets a short time for one.
    func drain() {
        guard exchange == nil, input.held == nil else { return }
        if !hasReceived {
            deadline.shortenForDrain()
        } else if parser.progress == .idle {
            channel.close()
        }
    }
}
