import Security
import ServiceKit

/// Who may be on a bus, and as whom.
public enum BrokerAccess: Sendable {
    /// Anyone, with all rights: for a bus that only this machine reaches.
    case open
    /// Who has the token, with all rights.
    case token(String)
    /// Each with a token of its own, and its own rights.
    case peers(BusPeerTable)

    enum Admission {
        case refused
        /// A peer that may do anything; its name is its own word.
        case unrestricted
        case restricted(BusPeer)
    }

    func admit(token given: String) -> Admission {
        switch self {
        case .open: .unrestricted
        case .token(let token):
            constantTimeEquals(Array(given.utf8), Array(token.utf8)) ? .unrestricted : .refused
        case .peers(let table): table.peer(with: given).map { .restricted($0) } ?? .refused
        }
    }
}
