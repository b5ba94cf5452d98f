/// A failure that repeats. It deserves a log line when it begins, when its reason changes, and when it ends.
public struct RepeatedFailure: Sendable {
    private var reason: String?

    public init() {}

    public var isThere: Bool { reason != nil }

    /// Notes a failure with its reason.
    ///
    /// - Returns: true if the reason is new.
    public mutating func note(_ reason: String) -> Bool {
        defer { self.reason = reason }
        return self.reason != reason
    }

    /// Notes a success, which ends the failure.
    ///
    /// - Returns: true if there was a failure.
    @discardableResult
    public mutating func end() -> Bool {
        defer { reason = nil }
        return isThere
    }
}
