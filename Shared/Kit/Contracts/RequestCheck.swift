import ParlorJSON

/// A request that gateways make before they forward a request to another service. A reply to the check allows the
/// other request, and an error denies it.
///
/// The check gets the data and the caller of the request that it precedes. A check before a subject with a
/// confidential route (`Route.isConfidential`) has no effect, because requests there may have passwords and tokens.
public struct RequestCheck: Sendable, Equatable {
    /// What happens to a request whose check has no valid reply in time.
    public enum WhenAway: String, Sendable {
        case allow
        /// The request is answered with `service_unavailable`.
        case deny
    }

    /// The subject of the requests that are checked, or `join`. Requests of routes and of socket events are checked
    /// alike. While no service has the subject, the check has no effect.
    public let before: String
    /// The check's own subject.
    public let subject: String
    /// The time for which gateways wait for the reply.
    public let deadline: Duration
    public let whenAway: WhenAway

    /// The value of `before` for the gateway's own event of joining a room.
    public static let join = "room:join"
    public static let standardDeadline: Duration = .milliseconds(500)
    /// A check that has less time would often be late on a busy machine. One that has more would use up the time of
    /// the request.
    static let deadlines: ClosedRange<Duration> = .milliseconds(10) ... .seconds(2)

    /// - Parameter deadline: clamped to the range from 10 ms to 2 s.
    public init(
        before: String, _ subject: String, whenAway: WhenAway, deadline: Duration = RequestCheck.standardDeadline
    ) {
        self.before = before
        self.subject = subject
        self.deadline = min(max(deadline, Self.deadlines.lowerBound), Self.deadlines.upperBound)
        self.whenAway = whenAway
    }
}

extension RequestCheck {
    var json: JSONValue {
        JSONWriter.object {
            $0.member("before", before)
            $0.member("subject", subject)
            $0.member("deadline", Int(deadline / .milliseconds(1)))
            $0.member("whenAway", whenAway.rawValue)
        }
    }

    init?(_ json: JSONValue) {
        guard let object = json.object, let before = object["before"]?.string, let subject = object["subject"]?.string
        else { return nil }
        // A misspelt value must not allow what the check would deny.
        let whenAway = object["whenAway"]?.string.flatMap(WhenAway.init) ?? .deny
        let deadline = object["deadline"]?.int.map { Duration.milliseconds($0) }
        self.init(before: before, subject, whenAway: whenAway, deadline: deadline ?? Self.standardDeadline)
    }
}
