/// Something that is tried again and again and goes wrong: worth a line when it begins or becomes another trouble, and when it ends.
public struct RepeatedFailure: Sendable {
    private var reason: String?

    public init() {}

    public var isThere: Bool { reason != nil }

    /// - Returns: whether that was not known yet.
    public mutating func note(_ reason: String) -> Bool {
        defer { self.reason = reason }
        return self.reason != reason
    }

    /// - Returns: whether there was any.
    @discardableResult
    public mutating func end() -> Bool {
        defer { reason = nil }
        return isThere
    }
}
