import Contracts
import MessageBus

extension StreamEntry: BusPayload {
    public var maxBytes: Int {
        // An escaped byte takes six.
        let texts = participants.reduce(roomID.utf8.count + (requestID?.utf8.count ?? 0)) { $0 + $1.utf8.count }
        return emissionsJSON.bytes.count + 6 * texts + 4 * participants.count + 160
    }

    /// nil if it is none.
    init?(_ message: BusMessage) {
        if let entry = message.payload as? StreamEntry {
            self = entry
        } else {
            self.init(message.data)
        }
    }
}
