/// A part of a list.
public struct Page<Item: Sendable>: Sendable {
    public var items: [Item]
    /// Where the next part begins; nil if there is none.
    public var next: String?

    public init(items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension Page: Equatable where Item: Equatable {}
