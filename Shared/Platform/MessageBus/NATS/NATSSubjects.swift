/// Maps Parlor's subjects to those on a NATS server. Events, requests and replies have separate prefixes, so
/// a subscriber to all events gets no requests and does not count as a responder. All have a common prefix,
/// so several Parlors can share a server.
struct NATSSubjects: Sendable {
    static let defaultPrefix = "parlor"

    let events: String
    let requests: String
    /// The prefix of reply subjects: one subject for each request, all in one subscription.
    let inbox: String

    /// - Parameter inboxName: a unique name that cannot be guessed. If the server does not restrict subjects for each
    ///   user, anyone who knows the name can reply instead of the responder.
    init(prefix: String, inboxName: String) {
        events = "\(prefix).event."
        requests = "\(prefix).request."
        inbox = "\(prefix).inbox.\(inboxName)."
    }

    /// Returns the id of the request that waits for a reply on a subject.
    func requestID(inbox subject: String) -> UInt64? {
        guard subject.hasPrefix(inbox) else { return nil }
        return NATSParser.number(subject.utf8.dropFirst(inbox.utf8.count))
    }

    /// Returns the subject in Parlor's own form.
    static func plain(_ subject: String, under space: String) -> String? {
        guard subject.hasPrefix(space) else { return nil }
        let plain = String(Substring(subject.utf8.dropFirst(space.utf8.count)))
        return SubjectGrammar.isSubject(plain) ? plain : nil
    }
}
