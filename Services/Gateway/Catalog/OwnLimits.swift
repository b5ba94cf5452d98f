import ParlorContracts

/// The rate limits of the gateway's own requests, and of routes and events that name no limit. A service's
/// limit with one of these names is ignored.
package enum OwnLimits {
    package static let joins = RateLimit("joins", perPerson: 120, perAddress: 1200, seconds: 10, "Joins of rooms")
    package static let typing = RateLimit("typing", perPerson: 120, perAddress: 1200, seconds: 10, "Typing events")
    package static let sync = RateLimit(
        "sync", perPerson: 60, perAddress: 3000, seconds: 60, "Requests for missed events")
    /// The limit for all HTTP requests of an address, before anything else is checked.
    package static let requests = RateLimit(
        "requests", perPerson: 6000, perAddress: 6000, seconds: 10, isOfAddresses: true, "HTTP requests, per address")
    /// The limit of reads. When a client starts, it requests its lists and some conversations. The limit allows thirty
    /// reads a second for all of a person's devices together.
    package static let reads = RateLimit(
        "reads", perPerson: 300, perAddress: 6000, seconds: 10, "Reads without a limit of their own")
    package static let writes = RateLimit(
        "writes", perPerson: 200, perAddress: 2000, seconds: 10, "Changes without a limit of their own")
    /// The limit of connects. For an address, it allows a whole office at once, after a deploy or behind an
    /// untrusted proxy.
    package static let connects = RateLimit(
        "connects", perPerson: 60, perAddress: 6000, seconds: 10, "Connects of sockets")
    package static let unknown = RateLimit(
        "unknown", perPerson: 60, perAddress: 600, seconds: 10,
        "Requests for what does not exist; an unknown route only per address")
    /// The limit of rooms in composed lists. Composing a list of 2,500 takes some 100 ms of a thread's time. A cached
    /// list counts none.
    package static let lists = RateLimit(
        "lists", perPerson: 10_000, perAddress: 100_000, seconds: 10,
        "Rooms composed for lists that the cache could not answer")
    package static let bytes = RateLimit(
        "bytes", perPerson: 64 << 20, perAddress: 640 << 20, seconds: 3600, "Bytes written")

    package static let all = [joins, typing, sync, requests, reads, writes, connects, unknown, lists, bytes]

    private static let byName = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    /// Returns the limits that calls of a route or event count against. One that names no limit of calls counts against
    /// the gateway's own.
    ///
    /// - Parameter declared: the limits that services declare.
    static func limits(
        _ names: [String], _ declared: [String: RateLimit], or standard: RateLimit
    ) -> [RateLimit] {
        let found = names.compactMap { byName[$0] ?? declared[$0] }
        return found.contains { $0.counted == .calls } ? found : found + [standard]
    }
}

/// The events that a gateway handles itself. Each changes the rooms of its socket, or its state in one.
package enum OwnEvent: String, Sendable, CaseIterable {
    case join = "room:join"
    case leave = "room:leave"
    case typing = "message:typing"

    package var limit: RateLimit { self == .typing ? OwnLimits.typing : OwnLimits.joins }
}
