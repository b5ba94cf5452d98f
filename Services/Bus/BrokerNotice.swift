import MessageBus

/// What an operator wants to see in the log: who came, who went and why.
public enum BrokerNotice: Sendable, Equatable {
    case joined(peer: String)
    case left(peer: String)
    /// By the broker, with the code of its last line to it.
    case cut(peer: String, code: String)
    /// A few of each minute; all are counted.
    case forbidden(peer: String, BusRights.Operation, subject: String)
}
