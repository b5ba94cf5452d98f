/// A NATS server or cluster, as given in a setting:
/// `nats://[NAME[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…][/PREFIX]`.
public struct NATSURL: Equatable, Sendable {
    /// The default port of NATS.
    public static let defaultPort: UInt16 = 4222
    /// The default prefix of all subjects.
    public static let defaultPrefix = NATSSubjects.defaultPrefix
    private static let scheme = "nats://"

    public let servers: [BusAddress]
    /// The prefix of all subjects.
    public let prefix: String
    let name: String?
    let password: String?

    /// Parses a setting; nil if it is malformed. Each server may have the scheme and a name before it, as
    /// other clients require; the first name counts.
    public init?(_ text: String) {
        guard text.hasPrefix(Self.scheme) else { return nil }
        var list = text.dropFirst(Self.scheme.count)
        var prefix = NATSSubjects.defaultPrefix
        // Search from the end, as later servers have slashes in their schemes.
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

    /// Returns the credentials. If there is a name without a password, the token is the password. If there is no
    /// token either, the name itself is a token, as in NATS's own clients.
    func credentials(token: String?) -> NATSCredentials? {
        guard let name else { return token.map { .token($0) } }
        return (password ?? token).map { .user(name, password: $0) } ?? .token(name)
    }
}

extension NATSURL: CustomStringConvertible {
    /// The address without name and password, for logs.
    public var description: String {
        "\(Self.scheme)\(servers.map(\.description).joined(separator: ","))/\(prefix)"
    }
}

enum NATSCredentials: Sendable, Equatable {
    case user(String, password: String)
    case token(String)

    /// The user's name, if it can be part of a subject. The subjects of the user's inboxes contain it, so that the
    /// server can deny others access to them.
    var userAsToken: String? {
        guard case .user(let name, _) = self, SubjectGrammar.isQueue(name) else { return nil }
        return name
    }
}
