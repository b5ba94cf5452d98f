import Contracts
import JSON

/// That someone has read a message of somebody else's, and when.
struct Receipt: Sendable {
    let userID: String
    let readAt: Timestamp

    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("userId", userID)
            $0.member("readAt", readAt.iso)
        }
    }
}
