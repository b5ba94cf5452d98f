import Contracts
import JSON

/// A session as its person sees it.
struct Session: Sendable {
    let id: String
    let createdAt: Timestamp
    let lastUsedAt: Timestamp
    let userAgent: String
    let address: String

    func write(to json: inout JSONWriter, isCurrent: Bool) {
        json.object {
            $0.member("id", id)
            $0.member("createdAt", createdAt.iso)
            $0.member("lastUsedAt", lastUsedAt.iso)
            $0.member("userAgent", userAgent)
            $0.member("address", address)
            $0.member("current", isCurrent)
        }
    }
}
