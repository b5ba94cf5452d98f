import ParlorHTTP
import ParlorReactor

/// Takes the requests of one connection within their clients' shares of the loop's time.
///
/// All input of a direct connection is its peer's. A trusted proxy's connection carries many clients' requests: only a
/// request's head says who its client is, and the next request may be another client's.
struct FairInput {
    private let isProxys: Bool
    private let configuration: EdgeConfiguration
    private let peer: IPAddress
    /// The event of a proxy's connection that waits because its client has used its share.
    private(set) var held: HTTPEvent?
    /// The client of a proxy's last request.
    private var latestClient: IPAddress?

    /// - Parameter address: the address that a direct connection counts for; nil for a trusted proxy's.
    init(from peer: IPAddress, countedAs address: IPAddress?, _ configuration: EdgeConfiguration) {
        (self.peer, isProxys, self.configuration) = (peer, address == nil, configuration)
    }

    /// Returns the next event, if its client has some of its share left.
    mutating func next(
        from parser: inout HTTPRequestParser, in interval: inout TimeShares.Interval
    ) throws(HTTPParseError) -> HTTPEvent? {
        if isProxys { interval.pass(to: bodyClient(parser)) }
        // Dropping input of a known length takes no time, and keeping it would cost memory.
        guard interval.goesOn() || parser.isDroppingUnparsed || held != nil else { return nil }
        let found = if let event = held.take() { event } else { try parser.next() }
        guard isProxys, let event = found, let request = event.request else { return found }
        note(request)
        interval.pass(to: latestClient)
        if interval.goesOn() { return event }
        held = event
        return nil
    }

    /// Notes that the input that follows is this request's, or comes after it.
    mutating func note(_ request: HTTPRequest) {
        if isProxys { latestClient = configuration.client(of: request, from: peer).subscriber }
    }

    /// Charges the rest of the interval to the client whose input has to wait: that of the held event, or of the body
    /// that is arriving.
    func end(_ interval: inout TimeShares.Interval, _ parser: HTTPRequestParser) {
        if isProxys, held == nil { interval.pass(to: bodyClient(parser)) }
    }

    private func bodyClient(_ parser: HTTPRequestParser) -> IPAddress? {
        guard parser.progress == .body else { return nil }
        return parser.unfinished.map { configuration.client(of: $0, from: peer).subscriber } ?? latestClient
    }
}
