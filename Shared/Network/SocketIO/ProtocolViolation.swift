/// What a client sent that no client of this protocol may send. The session it came on is closed.
public struct ProtocolViolation: Error, Equatable, CustomStringConvertible {
    /// For a log: never holds what was sent.
    public let reason: StaticString

    init(_ reason: StaticString) { self.reason = reason }

    public var description: String { "\(reason)" }

    public static func == (left: ProtocolViolation, right: ProtocolViolation) -> Bool {
        left.description == right.description
    }
}
