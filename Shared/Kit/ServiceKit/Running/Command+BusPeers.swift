import ParlorJSON
import ParlorMessageBus

extension Command {
    private static let tokens = Setting(
        "PEER_TOKENS", flag: "--tokens", .path,
        "A folder with each peer's token, in NAME.token: their digests are added to the lines")
    private static let others = Setting(
        "FURTHER_PEERS", flag: "--with", .path,
        "A file with more peers, a line for each, as {\"service\":\"polls\",\"request\":[\"rooms.membership\"]}")
    private static let nats = Setting(
        "PEERS_FOR_NATS", flag: "--nats", .toggle, default: "off", "Print it as a NATS server's configuration")
    private static let natsPrefix = Setting(
        "NATS_PREFIX", .text, default: NATSURL.defaultPrefix, "Prefix of all subjects on that server")

    /// Prints the peers of the bus and their rights, the basis of the file of `BUS_PEERS_FILE`.
    static func busPeers(_ own: [BusPeer]) -> Command {
        Command(
            name: "bus-peers",
            summary: """
                Prints a line with the rights of each peer that this program knows.
                With --tokens the lines are a file for BUS_PEERS_FILE; with --nats too, a NATS server's configuration.
                """,
            settings: [tokens, others, nats, natsPrefix]
        ) { configuration, print in
            let peers = try own + otherPeers(configuration[others], than: own)
            let folder = configuration[tokens]
            guard !configuration[nats] else {
                guard let folder else { throw ConfigurationError.missingValue(tokens.flag) }
                let prefix = configuration[natsPrefix]
                guard NATSURL.isPrefix(prefix) else {
                    throw ConfigurationError.malformed("NATS_PREFIX (--nats-prefix) is not a subject: \"\(prefix)\"")
                }
                let users = try peers.map { (peer: $0, password: try token(of: $0, in: folder, configuration)) }
                print(NATSAccess(prefix: prefix).configuration(of: users))
                return .done
            }
            for peer in peers {
                let digest = try folder.map {
                    BusPeerTable.digest(of: Array(try token(of: peer, in: $0, configuration).utf8))
                }
                let line = JSONWriter.object { json in
                    peer.write(to: &json)
                    if let digest { json.member("token", digest) }
                }
                print(String(decoding: line.bytes, as: UTF8.self))
            }
            return .done
        }
    }

    private static func token(
        of peer: BusPeer, in folder: String, _ configuration: Configuration
    ) throws(ConfigurationError) -> String {
        try configuration.token("\(folder)/\(peer.name).token", of: tokens)
    }

    /// - Throws: if the file cannot be read, a line is invalid, or two peers have the same name. Both would get the
    ///   same token.
    private static func otherPeers(
        _ path: String?, than own: [BusPeer]
    ) throws(ConfigurationError) -> [BusPeer] {
        guard let path else { return [] }
        // The file contains no secret, so anyone may have access to it.
        guard let text = SmallFile.contents(of: path, upTo: BusPeerTable.maxSize) else {
            throw .malformed("\(others.name) (\(others.flag)): \(path) cannot be read")
        }
        var peers: [BusPeer] = []
        try BusPeer.readLines(of: text, from: path) { object throws(BusPeerError) in
            let peer = try BusPeer(object)
            guard !(own + peers).contains(where: { $0.name == peer.name }) else {
                throw BusPeerError("names \"\(peer.name)\", which is the name of another peer")
            }
            peers.append(peer)
        }
        return peers
    }
}
