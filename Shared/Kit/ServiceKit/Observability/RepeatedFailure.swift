/// A failure that repeats. It deserves a log line when it begins, when its reason changes, and when it ends.
public struct RepeatedFailure: Sendable {
    private var reason: String?

    public init() {}

    public var isThere: Bool { reason != nil }

    /// - Returns: true if the reason is new.
    public mutating func note(_ reason: String) -> Bool {
        defer { self.reason = reason }
        return self.reason != reason
    }

    /// - Returns: true if there was a failure.
    @discardableResult
    public mutating func end() -> Bool {
        defer { reason = nil }
        return isThere
    }
}
