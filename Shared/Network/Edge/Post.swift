import ParlorSocketIO

/// A POST with many packets. They are taken a few at a time, so that other clients have their turns meanwhile. Its
/// session counts its bytes.
final class Post {
    /// The number of packets that are taken before other clients have their turns.
    static let packetsAtATime = 64

    let bytes: Int
    private var rest: ArraySlice<EngineAction>
    private let request: (connection: HTTPConnection, exchange: Int)
    private weak var session: EngineConnection?

    /// - Parameter actions: the engine's. The last one answers the POST.
    init(
        _ actions: [EngineAction], ofBytes bytes: Int, request: (connection: HTTPConnection, exchange: Int),
        of session: EngineConnection
    ) {
        self.bytes = bytes
        rest = actions[...]
        self.request = request
        self.session = session
    }

    /// Takes the next packets, and continues later with those after them. Does nothing once the POST has ended.
    func takePackets() {
        guard let session, session.post === self else { return }
        let actions = rest.prefix(Self.packetsAtATime)
        rest = rest.dropFirst(actions.count)
        // The last action answers the POST, and the next one may follow at once.
        if rest.isEmpty { session.endPost() }
        session.perform(actions, answering: request)
        if rest.isEmpty { return }
        session.edge.loop.inNextTurn { [self] in
            session.edge.shares.perform(for: session.handshake.client.subscriber) { [self] in takePackets() }
        }
    }

    /// Answers the POST without taking the packets that still wait, because the session has ended.
    func abandon() {
        session?.endPost()
        request.connection.answer(request.exchange, with: .enginePayload(EngineSession.postAnswer))
    }
}
