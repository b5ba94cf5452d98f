import ParlorMessageBus

/// The reason why the broker does not carry out a line. The peer that sent it gets this as an `err`, and stays connected.
enum BrokerRefusal: Error {
    case malformed(String)
    case badSubject(String)
    case tooLong
    case forbidden(BusRights.Operation, subject: String, message: String)
    case draining
    case noResponders
    /// The peer is at one of its limits.
    case refused(String)

    var code: String {
        switch self {
        case .malformed: "malformed"
        case .badSubject: BusError.badSubject.code
        case .tooLong: BusError.lineTooLong.code
        case .forbidden: "forbidden"
        case .draining: "draining"
        case .noResponders: BusError.noResponders.code
        case .refused: "refused"
        }
    }

    var message: String {
        switch self {
        case .malformed(let message), .badSubject(let message), .forbidden(_, _, let message), .refused(let message):
            message
        case .tooLong: "a line to be passed on is at most \(BusLimits.maxPassedOnLine) bytes"
        case .draining: "this bus is being stopped"
        case .noResponders: "no responder for this subject"
        }
    }
}
