/// A limited number of values by id. Beyond `limit`, the id that was added first is dropped. Setting an id again does
/// not renew it.
struct RecentValues<Value: Sendable>: Sendable {
    private let limit: Int
    private var values: [String: Value] = [:]
    private var order: [String] = []
    /// The index of the oldest entry in `order`. Entries before it are dropped, and removed in bulk.
    private var head = 0

    init(limit: Int) { self.limit = limit }

    subscript(id: String) -> Value? { values[id] }

    /// - Returns: the id that was dropped; nil if there was room.
    @discardableResult
    mutating func set(_ value: Value, for id: String) -> String? {
        if values.updateValue(value, forKey: id) != nil { return nil }
        order.append(id)
        guard order.count - head > limit else { return nil }
        let oldest = order[head]
        values[oldest] = nil
        head += 1
        if head > limit {
            order.removeFirst(head)
            head = 0
        }
        return oldest
    }
}
