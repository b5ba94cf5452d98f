import ParlorContracts
import ParlorMessageBus

// On a bus within a process, a reply is passed on as this object, not as JSON.

extension Reply: BusPayload {
    public var maxBytes: Int {
        // An escaped byte takes six.
        data.bytes.count + (page?.bytes.count ?? 0) + 6 * (position?.log.name.utf8.count ?? 0) + 128
    }

    /// - Throws: the errors of `init(_: JSONValue)`.
    public init(_ payload: any BusPayload) throws(ServiceError) {
        if let reply = payload as? Reply {
            self = reply
        } else if let error = payload as? ServiceError {
            throw error
        } else {
            try self.init(payload.json)
        }
    }
}

extension ServiceError: BusPayload {
    public var maxBytes: Int { 6 * message.utf8.count + 128 }
}
