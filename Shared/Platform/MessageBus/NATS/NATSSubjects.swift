/// Maps Parlor's subjects to those on a NATS server. Events, requests and replies are apart, so a
/// subscriber to all events gets no requests and is nobody's responder. All have a prefix, so
/// several Parlors can share a server.
struct NATSSubjects: Sendable {
    static let defaultPrefix = "parlor"

    let events: String
    let requests: String
    /// One subject a request, in one subscription.
    let inbox: String

    /// - Parameter inboxName: nobody else's, and not to be guessed: where the server has no finer rights, who knows it can answer in a
    ///   responder's place.
    init(prefix: String, inboxName: String) {
        events = "\(prefix).event."
        requests = "\(prefix).request."
        inbox = "\(prefix).inbox.\(inboxName)."
    }

    /// The id of the request that waits for a reply there.
    func requestID(inbox subject: String) -> UInt64? {
        guard subject.hasPrefix(inbox) else { return nil }
        return NATSParser.number(subject.utf8.dropFirst(inbox.utf8.count))
    }

    /// A subject as Parlor says it.
    static func plain(_ subject: String, under space: String) -> String? {
        guard subject.hasPrefix(space) else { return nil }
        let plain = String(Substring(subject.utf8.dropFirst(space.utf8.count)))
        return SubjectGrammar.isSubject(plain) ? plain : nil
    }
}
