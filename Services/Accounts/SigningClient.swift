import Contracts
import Reactor
import ServiceKit
import Workers

/// The client that signs in or uses a session: its address and its software.
struct SigningClient: Sendable {
    /// As its person sees it; `""` if it is not known.
    let address: String
    /// As its person sees it: what a client says of itself, without control characters, and not long.
    let userAgent: String
    /// The session of the caller's access token.
    let sessionID: String?
    let isLimited: Bool
    /// The network of one subscriber: the address, or the first 64 bits of IPv6 (RFC 6177). `""` if
    /// it is not known.
    let network: String
    /// The party for which its work is counted; nil if it is not counted.
    let party: Party?

    static let maxUserAgent = 200

    /// IPv4 addresses come by the /24, IPv6 by the /48: whoever has one of them often has all.
    private static func widerLength(_ address: IPAddress) -> Int { address.isIPv6 ? 48 : 24 }
    private static func length(_ address: IPAddress) -> Int { address.isIPv6 ? 64 : 32 }

    /// From the member that the gateway adds; of a gateway that does not, all that is done is counted by itself alone.
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
    /// Whether it shows nothing of its own, or changes how others are shown: controls, separators of lines, marks of direction.
    fileprivate var isInvisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
        default: properties.isDefaultIgnorableCodePoint
        }
    }
}
