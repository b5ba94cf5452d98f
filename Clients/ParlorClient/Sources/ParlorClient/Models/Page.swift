/// One page of a list.
public struct Page<Item: Sendable>: Sendable {
    public var items: [Item]
    /// The cursor of the next page; nil on the last one.
    public var next: String?
    /// The names of services that did not answer in time. Their fields have the last known values, or the initial
    /// ones that each service declares, such as 0.
    public var degraded: [String]

    public init(items: [Item], next: String? = nil, degraded: [String] = []) {
        self.items = items
        self.next = next
        self.degraded = degraded
    }
}

extension Page: Equatable where Item: Equatable {}
