/// A NATS server or cluster as a setting says it: `nats://[NAME[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…][/PREFIX]`.
public struct NATSURL: Equatable, Sendable {
    /// The port of NATS by default.
    public static let defaultPort: UInt16 = 4222
    /// The prefix of all subjects by default.
    public static let defaultPrefix = NATSSubjects.defaultPrefix
    private static let scheme = "nats://"

    public let servers: [BusAddress]
    /// The prefix of all subjects.
    public let prefix: String
    let name: String?
    let password: String?

    /// nil if it is none. A server may stand with the scheme and a name before it, as other clients want it; the first
    /// name that stands there counts.
    public init?(_ text: String) {
        guard text.hasPrefix(Self.scheme) else { return nil }
        var list = text.dropFirst(Self.scheme.count)
        var prefix = NATSSubjects.defaultPrefix
        // From the end: further servers have slashes in their schemes.
        if let slash = list.lastIndex(of: "/"), !list[...slash].hasSuffix("//") {
            let path = list[list.index(after: slash)...]
            guard path.isEmpty || Self.isPrefix(String(path)) else { return nil }
            if !path.isEmpty { prefix = String(path) }
            list = list[..<slash]
        }
        var servers: [BusAddress] = []
        var names: [Substring] = []
        for part in list.split(separator: ",", omittingEmptySubsequences: false) {
            var address = part.hasPrefix(Self.scheme) ? part.dropFirst(Self.scheme.count) : part
            if let at = address.lastIndex(of: "@") {
                names.append(address[..<at])
                address = address[address.index(after: at)...]
            }
            guard let server = BusAddress(address, defaultPort: Self.defaultPort) else { return nil }
            servers.append(server)
        }
        let parts = names.first?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts?.first?.isEmpty != true else { return nil }
        self.servers = servers
        self.prefix = prefix
        name = parts.map { String($0[0]) }
        password = parts.flatMap { $0.count > 1 ? String($0[1]) : nil }
    }

    package static func isPrefix(_ text: String) -> Bool { text.utf8.count <= 64 && SubjectGrammar.isSubject(text) }

    /// A name alone is a user's if there is a token, which is the password then; and a token else, as NATS' own clients
    /// take it.
    func credentials(token: String?) -> NATSCredentials? {
        guard let name else { return token.map { .token($0) } }
        return (password ?? token).map { .user(name, password: $0) } ?? .token(name)
    }
}

extension NATSURL: CustomStringConvertible {
    /// For logs: without name and password.
    public var description: String {
        "\(Self.scheme)\(servers.map(\.description).joined(separator: ","))/\(prefix)"
    }
}

enum NATSCredentials: Sendable, Equatable {
    case user(String, password: String)
    case token(String)

    /// The user's name, if it can stand in a subject: its inboxes begin with it, so that the server may keep others out of them.
    var userAsToken: String? {
        guard case .user(let name, _) = self, SubjectGrammar.isQueue(name) else { return nil }
        return name
    }
}
