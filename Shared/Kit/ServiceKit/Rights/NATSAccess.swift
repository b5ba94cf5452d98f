import ParlorMessageBus

/// The rights of bus peers as a NATS server's configuration: a user for each peer, with its token as the
/// password.
///
/// Subjects are those of NATSSubjects. A user receives replies in inboxes that begin with its name. Other
/// users may publish there only to reply to a request that they received.
struct NATSAccess {
    let prefix: String

    /// The permission to reply. A request is answered or rejected once, by its deadline; a repeated request
    /// is answered again. The server forgets the permission after `expires`, so a slower request gets no
    /// reply.
    private static let responses = #"allow_responses: {max: 4, expires: "5m"}"#

    func configuration(of peers: [(peer: BusPeer, password: String)]) -> String {
        let users = peers.map { user($0.peer, password: $0.password) }
        return "authorization {\n  timeout: 5\n  users: [\n\(users.joined())  ]\n}\n"
    }

    private func user(_ peer: BusPeer, password: String) -> String {
        let rights = peer.rights
        let publish = rights.publish.map { "\(prefix).event.\($0)" } + rights.request.map { "\(prefix).request.\($0)" }
        // A peer may subscribe to events in a queue group with its own name only: once a permission names a
        // queue for a subject, NATS accepts no other queue there.
        let subscribe =
            rights.subscribe.flatMap { ["\(prefix).event.\($0)", "\(prefix).event.\($0) \(peer.name)"] }
            + rights.serve.map { "\(prefix).request.\($0)" }
            + ["\(prefix).inbox.\(peer.name).>"]
        // An empty list would allow everything.
        let mayPublish = publish.isEmpty ? #"{deny: [">"]}"# : "{allow: \(Self.list(publish))}"
        let answers = rights.serve.isEmpty ? "" : "\n      \(Self.responses)"
        return """
                {user: "\(peer.name)", password: "\(Self.escaped(password))", permissions: {
                  publish: \(mayPublish)
                  subscribe: {allow: \(Self.list(subscribe))}\(answers)
                }}

            """
    }

    private static func list(_ patterns: [String]) -> String {
        "[\(patterns.map { "\"\($0)\"" }.joined(separator: ", "))]"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
