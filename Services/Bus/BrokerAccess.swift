import ParlorMessageBus
import ParlorSecurity
import ParlorServiceKit

/// The peers that may join a bus, and their rights.
public enum BrokerAccess: Sendable {
    /// Anyone, with all rights, for a bus that only this machine can reach.
    case open
    /// Peers with the token, with all rights.
    case token(String)
    /// The listed peers, each with its own token and rights.
    case peers(BusPeerTable)

    enum Admission {
        case refused
        /// A peer with all rights, whose name is not verified.
        case unrestricted
        case restricted(BusPeer)
    }

    func admit(token given: String) -> Admission {
        switch self {
        case .open: .unrestricted
        case .token(let token):
            constantTimeEquals(Array(given.utf8), Array(token.utf8)) ? .unrestricted : .refused
        case .peers(let table): table.peer(with: given).map { .restricted($0) } ?? .refused
        }
    }
}

/// A peer's rights in a form for lookups at each `pub` and `req`.
struct BrokerRights {
    private let serve: SubjectPatterns
    private let request: SubjectPatterns
    private let publish: SubjectPatterns
    private let subscribe: SubjectPatterns

    init(_ rights: BusRights) {
        serve = SubjectPatterns(rights.serve)
        request = SubjectPatterns(rights.request)
        publish = SubjectPatterns(rights.publish)
        subscribe = SubjectPatterns(rights.subscribe)
    }

    /// - Parameter pattern: a subject, or for `serve` and `subscribe` also a pattern: one right has to cover
    ///   everything that it matches.
    func allow(_ operation: BusRights.Operation, on pattern: String) -> Bool {
        switch operation {
        case .serve: serve.covers(pattern)
        case .request: request.covers(pattern)
        case .publish: publish.covers(pattern)
        case .subscribe: subscribe.covers(pattern)
        }
    }
}

/// The limit of refusals that are logged in a minute, as a faulty peer can cause any number.
struct NoticeBudget {
    private static let perMinute = 20

    private var minute = -1
    private var count = 0

    mutating func take(at now: Duration) -> Bool {
        let current = Int(now.components.seconds / 60)
        if current != minute { (minute, count) = (current, 0) }
        count += 1
        return count <= Self.perMinute
    }
}
