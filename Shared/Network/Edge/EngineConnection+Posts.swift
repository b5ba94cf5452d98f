import ParlorSocketIO

/// A POST of which some packets wait for their turn. Its session counts its bytes.
struct Post {
    /// The number of a POST's packets that are taken before other clients have their turns.
    static let packetsAtATime = 64

    var rest: ArraySlice<EngineAction>
    let bytes: Int
    let request: (connection: HTTPConnection, exchange: Int)
}

extension EngineConnection {
    /// Handles a POST. If it has many packets, other clients have their turns meanwhile, and a POST that comes before
    /// its answer waits.
    func post(_ body: [UInt8], on connection: HTTPConnection, exchange: Int) {
        let client = handshake.client.subscriber
        guard post == nil else {
            return edge.shares.wait(for: client) { [weak self, weak connection] in
                // A body whose connection is gone is not counted any more.
                guard let self, let connection, connection.isAnswering(exchange) else { return }
                edge.shares.perform(for: client) { [self] in post(body, on: connection, exchange: exchange) }
            }
        }
        let limit =
            isUnconnected ? edge.configuration.limits.maxUnconnectedMessages : PollingPayload.maxReceivedPackets
        let actions = engine.post(body[...], atMost: limit)
        guard actions.count > Post.packetsAtATime else {
            return perform(actions, answering: (connection, exchange))
        }
        post = Post(rest: actions[...], bytes: body.count, request: (connection, exchange))
        connection.handOver(exchange)
        guard countQueue() == nil else {
            endPost()
            perform([.refuse], answering: (connection, exchange))
            return close(.overload)
        }
        takePackets()
    }

    private func takePackets() {
        guard let (rest, request) = post.map({ ($0.rest, $0.request) }) else { return }
        let actions = rest.prefix(Post.packetsAtATime)
        guard actions.count < rest.count else {
            // The last action answers the POST, and the next one may follow at once.
            endPost()
            return perform(actions, answering: request)
        }
        post?.rest = rest.dropFirst(actions.count)
        perform(actions, answering: request)
        edge.loop.inNextTurn { [self] in
            edge.shares.perform(for: handshake.client.subscriber) { [self] in takePackets() }
        }
    }

    private func endPost() {
        post = nil
        countQueue()
    }

    /// Answers the POST without taking the packets that still wait, because the session has ended.
    func abandonPost() {
        guard let (connection, exchange) = post?.request else { return }
        endPost()
        connection.answer(exchange, with: .enginePayload(EngineSession.postAnswer))
    }
}
