import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The service's declaration, and its wiring.
public struct PollsService: Service {
    public static let name = "polls"
    public static let settings: [any AnySetting] = [Polls.maxPolls]
    public static let migrations = PollsSchema.migrations
    public static let commands = [Polls.command]
    public static let peer = BusPeer.service(name, requests: [Subject.membership, Subject.existingMessages])
    /// Each change of the badge, of `pollCount` and of `poll` has an entry, so gateways may cache them.
    public static let log: LogContents = [.clientEvents, .roomChanges]
    public static let events = EventDescription.ofPolls

    private let polls: Polls

    public init(_ context: ServiceContext) {
        polls = Polls(
            bus: context.bus, ids: context.ids, clock: context.clock, limit: context.configuration[Polls.maxPolls],
            votes: context.metrics.counter("polls_votes_total", "Votes, including those that replaced an earlier one."))
    }

    public func register(in requests: inout RequestTable) {
        let polls = polls
        requests.onRoom(.list) { try await polls.list($0) }
        requests.onRoom(.create) { try await polls.create($0) }
        requests.onRoom(.vote) { try await polls.vote($0) }
        requests.onContribution(Polls.contribution) { try PollsStore($2).summaries(of: $0, for: $1) }
        requests.onContribution(to: .messages, Polls.messageContribution) { try PollsStore($2).newest(about: $0) }
    }
}

extension Endpoint {
    private static let polls = "/api/rooms/:roomId/polls"

    fileprivate static let list = Endpoint("polls.list").route("GET", polls).described(.listPolls)
    fileprivate static let create = Endpoint("polls.create")
        .route("POST", polls)
        .socketEvent("poll:create", ackName: "poll")
        .described(.createPoll)
    fileprivate static let vote = Endpoint("polls.vote")
        .route("PUT", "\(polls)/:pollId/vote")
        .socketEvent("poll:vote", ackName: "poll")
        .described(.vote)
}
