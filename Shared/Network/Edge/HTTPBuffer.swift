import ParlorHTTP
import ParlorReactor

/// The bytes that are counted as buffered for an HTTP connection (`ClientUsage`), and the client that they
/// count for.
///
/// Usually they belong to one request, and count for that request's client and person. They do not count for the peer,
/// because a proxy's connection carries requests of many clients.
struct HTTPBuffer {
    private let edge: EdgeLoop
    private let peer: IPAddress
    /// The peer's address, or nil for a trusted proxy.
    private let countedAddress: IPAddress?
    private var counted = ClientUsage.Buffered()
    /// The request that is being answered, or the last one while its answer is not sent completely; without
    /// its body.
    private var latest: HTTPRequest?
    /// The standing of `latest`, or nil until it makes a difference.
    private var standing: ClientUsage.Standing?
    /// True while a known client reads an answer that the kernel has not taken completely.
    private(set) var isBeingRead = false

    init(of peer: IPAddress, countedAs address: IPAddress?, edge: EdgeLoop) {
        (self.peer, countedAddress, self.edge) = (peer, address, edge)
    }

    /// Notes that the client takes nothing of an answer for now.
    ///
    /// - Returns: true if the client is known, so that it has time to read on.
    mutating func noteStall() -> Bool {
        if counted.standing != .stranger { isBeingRead = true }
        return isBeingRead
    }

    /// Notes that everything is sent.
    ///
    /// - Returns: true if a known client had something left to read.
    mutating func noteDrain() -> Bool {
        defer { isBeingRead = false }
        return isBeingRead
    }

    /// Begins a request's answer.
    ///
    /// - Parameter isUnread: true if an earlier answer is not sent completely.
    mutating func begin(_ request: HTTPRequest?, isUnread: Bool) {
        if !isUnread || standing == .stranger { standing = nil }
        latest = request
        latest?.body = []
    }

    /// Ends the last answer, which has been sent.
    mutating func end() { (latest, standing) = (nil, nil) }

    /// Sets the standing, as the request belongs to a socket.
    mutating func note(_ standing: ClientUsage.Standing) { self.standing = standing }

    /// Updates the count to the current bytes.
    ///
    /// - Parameters:
    ///   - unread: the bytes of answers that are not sent.
    ///   - taken: the bytes of requests.
    ///   - coming: the request that is arriving, if none is being answered.
    /// - Returns: false if the client may not have so much.
    mutating func count(unread: Int, taken: Int, coming: @autoclosure () -> HTTPRequest?) -> Bool {
        var after = ClientUsage.Buffered(bytes: EdgeLoop.counted(unread + taken))
        if after.bytes == 0, counted.bytes == 0 { return true }
        if after.bytes > 0 {
            let subject = coming() ?? latest
            // Bytes that come through a proxy have no client until a head names one.
            after.address = countedAddress ?? subject.map { edge.configuration.client(of: $0, from: peer).subscriber }
            after.standing = standing(of: subject, at: after.address, unread: unread, taken: taken)
        }
        return edge.count(after, in: &counted) == nil
    }

    private mutating func standing(
        of subject: HTTPRequest?, at address: IPAddress?, unread: Int, taken: Int
    ) -> ClientUsage.Standing {
        if standing == nil, unread + taken > EdgeLimits.smallBuffer, let subject {
            // It may verify a token, which takes as long as many small requests.
            var interval = edge.shares.begin(for: address)
            standing = edge.standing(of: subject)
            _ = interval.goesOn()
        }
        guard case .known(let person) = standing else { return .stranger }
        // An answer that was within its client's limit must not be cut off because others use much.
        let isReading = taken <= EdgeLimits.smallBuffer && unread <= edge.configuration.maxUnsentBytes
        return isReading ? .reader(person: person) : .known(person: person)
    }

    mutating func release() {
        latest = nil
        _ = edge.count(ClientUsage.Buffered(), in: &counted)
    }
}

extension HTTPRequestParser {
    /// Returns the approximate memory that is held, including an event that was returned and not consumed.
    func heldBytes(with event: HTTPEvent?) -> Int {
        switch event {
        case .request(let request), .bodyTooLarge(let request): heldBytes + lastHeadBytes + request.body.count
        // The request is still in the parser.
        case .largeBody, .continueExpected, .drained, nil: heldBytes
        }
    }
}
