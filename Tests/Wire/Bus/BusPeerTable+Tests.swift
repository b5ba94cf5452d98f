import ParlorJSON
import ParlorSecurity

@testable import ParlorServiceKit

extension BusPeerTable {
    /// Creates a table from peers and their tokens, through the text that a bus reads.
    init(_ peers: [(peer: BusPeer, token: String)]) throws {
        let lines = peers.map { peer, token in
            JSONWriter.object {
                peer.write(to: &$0)
                $0.member("token", Self.digest(of: Array(token.utf8)))
            }
        }
        try self.init(Array(lines.map(\.bytes).joined(separator: [UInt8(ascii: "\n")])), from: "peers")
    }
}
