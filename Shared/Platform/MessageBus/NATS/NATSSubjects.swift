/// Where Parlor's subjects lie on a NATS server: events, requests and replies apart, so that whoever listens to all events
/// hears no request and is nobody's responder; all under a prefix, so that several Parlors share a server.
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

    /// Of the request that waits for a reply there.
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
