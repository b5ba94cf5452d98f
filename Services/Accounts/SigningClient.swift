import ParlorContracts
import ParlorReactor
import ParlorServiceKit
import ParlorWorkers

/// The client that signs in or uses a session: its address and its software.
struct SigningClient: Sendable {
    /// The address shown in the person's list of sessions; `""` if it is unknown.
    let address: String
    /// The client's description of itself, as the person sees it: truncated, and without invisible characters.
    let userAgent: String
    /// The session of the caller's access token.
    let sessionID: String?
    let isLimited: Bool
    /// The network of one customer of a provider: the IPv4 address, or the first 64 bits of the IPv6 address
    /// (RFC 6177). `""` if it is unknown.
    let network: String
    /// The client's key in the fair queue for password hashes; nil if the client is not limited.
    let party: Party?

    static let maxUserAgent = 200

    /// Returns the prefix length of a wider network. IPv4 addresses are assigned in blocks of /24, IPv6
    /// addresses in blocks of /48. An owner of one address often has the whole block.
    private static func widerLength(_ address: IPAddress) -> Int { address.isIPv6 ? 48 : 24 }
    private static func length(_ address: IPAddress) -> Int { address.isIPv6 ? 64 : 32 }

    /// Reads the member that the gateway adds. Requests of a gateway that adds none are not counted for any party.
    init(_ fields: RequestFields) {
        self.init(fields[ClientInfo.member].flatMap(ClientInfo.init) ?? .unknown)
    }

    init(_ client: ClientInfo) {
        sessionID = client.sessionID
        isLimited = client.isLimited
        let shown = client.userAgent.unicodeScalars.filter { !$0.isInvisible }
        userAgent = String(String.UnicodeScalarView(shown.prefix(Self.maxUserAgent)))
        guard let address = IPAddress(client.address) else {
            (self.address, network) = ("", "")
            party = client.isLimited ? Party(network: "", address: "") : nil
            return
        }
        self.address = address.description
        network = "\(address.keeping(firstBits: Self.length(address)))/\(Self.length(address))"
        let wider = "\(address.keeping(firstBits: Self.widerLength(address)))/\(Self.widerLength(address))"
        party = client.isLimited ? Party(network: wider, address: network) : nil
    }
}

extension Unicode.Scalar {
    /// True if the scalar shows nothing itself, or changes how others are shown: controls, line separators,
    /// marks of direction.
    fileprivate var isInvisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
        default: properties.isDefaultIgnorableCodePoint
        }
    }
}
