import ParlorJSON
import ParlorMessageBus

/// Several requests on one subject that are sent as one.
///
/// Its data is a list of `{requestId, caller?, trace?, data}`. The reply is a list, in the same order, of the
/// replies that the requests would get alone. If the bus could not carry all of them, the last ones are left out,
/// but never the first. Any other reply means that the whole batch failed.
enum RequestBatch {
    /// The limit of requests in a batch, so that the first need not wait long for the last.
    static let maxCount = 64
    /// The limit of a batch's replies in bytes, unless the first alone is longer.
    static let maxReplyBytes = BusLimits.maxLine / 2

    struct Request: Sendable {
        let data: JSONValue
        let context: BusContext

        /// The approximate size on the wire.
        var size: Int { data.bytes.count + (context.caller?.bytes.count ?? 0) + 256 }
    }

    static func encode(_ requests: [Request]) -> JSONValue {
        JSONWriter.value(reservingCapacity: requests.reduce(64) { $0 + $1.size }) { json in
            json.array(of: requests) { json, request in
                json.object {
                    $0.member("requestId", request.context.requestID)
                    if let caller = request.context.caller { $0.member("caller", caller) }
                    if let trace = request.context.trace { $0.member("trace", trace) }
                    $0.member("data", request.data)
                }
            }
        }
    }

    /// Parses the requests in a batch; nil if the data is anything but a valid list of 1 to 64 requests.
    ///
    /// - Parameter context: the batch's context. Each request has it, except for the members that it
    ///   overrides.
    static func decode(_ data: JSONValue, in context: BusContext) -> [Request]? {
        guard let items = data.array, (1...maxCount).contains(items.count) else { return nil }
        var requests: [Request] = []
        requests.reserveCapacity(items.count)
        for item in items {
            guard let item = item.object, let id = item["requestId"]?.string, let data = item["data"] else {
                return nil
            }
            var context = context
            context.requestID = id
            context.caller = item["caller"]
            context.trace = item["trace"]?.string
            requests.append(Request(data: data, context: context))
        }
        return requests
    }
}
