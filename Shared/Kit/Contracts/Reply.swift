import ParlorJSON

/// A service's reply to a request. The gateway turns it into an HTTP response or an ack.
public struct Reply: Sendable {
    public enum Status: Int, Sendable {
        case ok = 200
        case created = 201
        case noContent = 204
    }

    public var status: Status
    public var data: JSONValue
    /// The cursor of a paged list's next page, or null on the last one; nil for other replies.
    public var page: JSONValue?
    /// The log entry that a write made. The gateway holds the reply until the entry is fanned out.
    public var position: EntryPosition?
    /// True if this repeats the reply to an earlier request with the same idempotency key.
    public var isDuplicate: Bool

    public init(
        _ status: Status = .ok, _ data: JSONValue = .emptyObject, page: JSONValue? = nil,
        position: EntryPosition? = nil, isDuplicate: Bool = false
    ) {
        self.status = status
        self.data = data
        self.page = page
        self.position = position
        self.isDuplicate = isDuplicate
    }

    /// Returns a page of a list. `next` is nil on the last page.
    public static func page(_ items: JSONValue, next: String?) -> Reply {
        Reply(.ok, items, page: next.map { JSONValue($0) } ?? .null)
    }

    public var json: JSONValue {
        JSONWriter.object(reservingCapacity: data.bytes.count + 96) {
            $0.member("status", status.rawValue)
            if let page { $0.member("page", page) }
            if let position {
                $0.member("stream", position.log.name)
                $0.member("seq", position.seq)
            }
            if isDuplicate { $0.member("duplicate", true) }
            $0.member("data", data)
        }
    }

    /// Returns what is wrong in the JSON of a reply that is neither a reply nor an error, for a log.
    public static func mistake(in json: JSONValue) -> String {
        guard let object = json.object else { return "it is no object" }
        if object["error"] != nil { return "`error` is no object" }
        guard let status = object["status"] else { return "it has neither `status` nor `error`" }
        return status.int.flatMap(Status.init) == nil ? "`status` is \(status)" : "it has no `data`"
    }

    /// Parses a service's reply, or throws its error.
    ///
    /// - Throws: the service's `ServiceError`; `internal` if the JSON is neither.
    public init(_ json: JSONValue) throws(ServiceError) {
        guard let object = json.object else { throw .noReply }
        if let error = object["error"]?.object {
            throw ServiceError(
                ErrorCode(error) ?? .internal, error["message"]?.string ?? "Something went wrong.",
                retryAfter: error["retryAfter"]?.int.map { max($0, 0) })
        }
        // Nothing is sent with a 204, so its data may be absent.
        guard let status = object["status"]?.int.flatMap(Status.init),
            let data = object["data"] ?? (status == .noContent ? .null : nil)
        else { throw .noReply }
        self.init(status, data, page: object["page"], isDuplicate: object["duplicate"]?.bool ?? false)
        if let log = object["stream"]?.string.flatMap(LogID.init(name:)), let seq = object["seq"]?.int {
            position = EntryPosition(log: log, seq: seq)
        }
    }
}

extension ServiceError {
    /// The error in the form that `Reply.init(_:)` reads.
    public var json: JSONValue {
        JSONWriter.object {
            $0.member(
                "error",
                object: {
                    $0.member("code", code.rawValue)
                    // Every process knows the statuses of the contract's codes, so only other codes
                    // carry one.
                    if !code.isOfContract { $0.member("status", code.status) }
                    $0.member("message", message)
                    if let retryAfter { $0.member("retryAfter", retryAfter) }
                })
        }
    }
}
