import ParlorContracts
import ParlorJSON
import ParlorMessageBus

/// Reads the reply to one request: what the service replied, or the `ServiceError` for the reason why there is no
/// reply. Faults of the service are noted.
public struct ReplyReader: Sendable {
    private let subject: String
    private let context: BusContext
    private let owner: String
    private let faults: ReplyFaults?
    /// True if the request is so long that it, and not the reply, would be over the bus's limit.
    private let isLong: Bool

    /// - Parameters:
    ///   - owner: as in `MessageBus.ask`.
    ///   - faults: as in `MessageBus.ask`.
    public init(
        _ subject: String, _ data: JSONValue, _ context: BusContext, of owner: String, faults: ReplyFaults?
    ) {
        self.subject = subject
        self.context = context
        self.owner = owner
        self.faults = faults
        isLong = data.bytes.count > BusLimits.maxLine / 2
    }

    /// - Parameter parse: parses the payload of the reply, and throws the service's error.
    public func read<Value>(
        _ reply: Result<any BusPayload, BusError>,
        _ parse: (any BusPayload) throws(ServiceError) -> Value
    ) -> Result<Value, ServiceError> {
        switch reply {
        case .success(let payload):
            do throws(ServiceError) {
                return .success(try parse(payload))
            } catch {
                faults?.note(error, reading: payload, on: subject, context)
                return .failure(error)
            }
        case .failure(let error):
            if !isLong { faults?.note(error, on: subject, context) }
            switch error {
            // Either the request is too long, or the reply is. A retry helps in neither case.
            case .lineTooLong where isLong:
                return .failure(ServiceError(.payloadTooLarge, "The request is too large."))
            case .lineTooLong: return .failure(ServiceError(.internal, "Something went wrong on our side."))
            case .malformedReply: return .failure(.noReply)
            default: return .failure(.unavailable(owner))
            }
        }
    }
}
