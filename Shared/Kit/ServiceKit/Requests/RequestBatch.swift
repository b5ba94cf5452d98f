import JSON
import MessageBus

/// Several questions on one subject that travel as one request.
///
/// Its data is a list of `{requestId, caller?, trace?, data}`, and the answer a list of what each would have been answered alone, in
/// the same order: of the first ones, as many as fit a line of the bus, but one at least. A request that is answered with
/// anything else has failed as a whole.
enum RequestBatch {
    /// So that the first need not wait long for the last.
    static let maxCount = 64
    /// The maximum size of a batch's replies, unless the first alone is longer.
    static let maxAnswerBytes = BusLimits.maxLine / 2

    struct Question: Sendable {
        let data: JSONValue
        let context: BusContext

        /// Roughly, as it travels.
        var size: Int { data.bytes.count + (context.caller?.bytes.count ?? 0) + 256 }
    }

    static func encode(_ questions: [Question]) -> JSONValue {
        JSONWriter.value(reservingCapacity: questions.reduce(64) { $0 + $1.size }) { json in
            json.array(of: questions) { json, question in
                json.object {
                    $0.member("requestId", question.context.requestID)
                    if let caller = question.context.caller { $0.member("caller", caller) }
                    if let trace = question.context.trace { $0.member("trace", trace) }
                    $0.member("data", question.data)
                }
            }
        }
    }

    /// The requests in a batch; nil if the data is not a batch but one request.
    ///
    /// - Parameter context: the batch's. Each request has it, except for the members that it names
    ///   itself.
    static func decode(_ data: JSONValue, in context: BusContext) -> [Question]? {
        guard let items = data.array, (1...maxCount).contains(items.count) else { return nil }
        var questions: [Question] = []
        questions.reserveCapacity(items.count)
        for item in items {
            guard let item = item.object, let id = item["requestId"]?.string, let data = item["data"] else {
                return nil
            }
            var context = context
            context.requestID = id
            context.caller = item["caller"]
            context.trace = item["trace"]?.string
            questions.append(Question(data: data, context: context))
        }
        return questions
    }
}
