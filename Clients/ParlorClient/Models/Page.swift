/// One page of a list.
public struct Page<Item: Sendable>: Sendable {
    public var items: [Item]
    /// The cursor of the next page; nil on the last one.
    public var next: String?

    public init(items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension Page: Equatable where Item: Equatable {}
