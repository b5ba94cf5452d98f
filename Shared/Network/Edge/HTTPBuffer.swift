import HTTP
import Reactor

/// What is counted as buffered for an HTTP connection (`ClientUsage`), and whose it is.
///
/// It belongs to one request for the most part: to that one's client and person, as a proxy's connection carries requests of many.
struct HTTPBuffer {
    private let edge: EdgeLoop
    private let peer: IPAddress
    /// nil: a trusted proxy's.
    private let countedAddress: IPAddress?
    private var counted = ClientUsage.Buffered()
    /// The request that is being answered, without its body, or was last, while its answer has not gone out.
    private var latest: HTTPRequest?
    /// nil until it makes a difference.
    private var standing: ClientUsage.Standing?

    init(of peer: IPAddress, countedAs address: IPAddress?, edge: EdgeLoop) {
        (self.peer, countedAddress, self.edge) = (peer, address, edge)
    }

    /// A request is answered from now on.
    ///
    /// - Parameter isUnread: whether an earlier answer is.
    mutating func begin(_ request: HTTPRequest?, isUnread: Bool) {
        if !isUnread || standing == .stranger { standing = nil }
        latest = request
        latest?.body = []
    }

    /// The last answer has gone out.
    mutating func end() { (latest, standing) = (nil, nil) }

    /// The request belongs to a socket.
    mutating func note(_ standing: ClientUsage.Standing) { self.standing = standing }

    /// Counts the bytes as they are now.
    ///
    /// - Parameters:
    ///   - unread: of answers.
    ///   - taken: of requests.
    ///   - coming: the request that comes in now, if none is being answered.
    /// - Returns: false if it is more than the client may have.
    mutating func count(unread: Int, taken: Int, coming: @autoclosure () -> HTTPRequest?) -> Bool {
        var after = ClientUsage.Buffered(bytes: EdgeLoop.counted(unread + taken))
        if after.bytes == 0, counted.bytes == 0 { return true }
        if after.bytes > 0 {
            let subject = coming() ?? latest
            // What comes through a proxy is nobody's until a head says whose it is.
            after.address = countedAddress ?? subject.map { edge.configuration.client(of: $0, from: peer).subscriber }
            after.standing = standing(of: subject, unread: unread, taken: taken)
        }
        return edge.count(after, in: &counted) == nil
    }

    private mutating func standing(of subject: HTTPRequest?, unread: Int, taken: Int) -> ClientUsage.Standing {
        if standing == nil, unread + taken > EdgeLimits.smallBuffer, let subject {
            standing = edge.standing(of: subject)
        }
        guard case .known(let person) = standing else { return .stranger }
        // An answer that was made for somebody who may have it is not to end in its middle because others have much.
        let isReading = taken <= EdgeLimits.smallBuffer && unread <= edge.configuration.maxUnsentBytes
        return isReading ? .reader(person: person) : .known(person: person)
    }

    mutating func release() {
        latest = nil
        _ = edge.count(ClientUsage.Buffered(), in: &counted)
    }
}

extension HTTPRequestParser {
    /// The memory that is held, about, with an event that it has given out and nobody has taken.
    func heldBytes(with event: HTTPEvent?) -> Int {
        switch event {
        case .request(let request), .bodyTooLarge(let request): heldBytes + lastHeadBytes + request.body.count
        // It is held here still.
        case .largeBody, .continueExpected, .drained, nil: heldBytes
        }
    }
}
