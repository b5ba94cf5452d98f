import Synchronization

/// Collects items from any thread, and lets a test wait for them.
public final class Collector<Item: Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<[Item], Never>)] = []
    }

    private let state = Mutex(State())

    public init() {}

    public var items: [Item] { state.withLock { $0.items } }

    /// Returns the items since the last call.
    public func takeAll() -> [Item] {
        state.withLock { state in
            defer { state.items = [] }
            return state.items
        }
    }

    public func add(_ item: Item) {
        let ready = state.withLock { state in
            state.items.append(item)
            let (items, count) = (state.items, state.items.count)
            let ready = state.waiting.filter { $0.count <= count }.map { ($0.continuation, items) }
            state.waiting.removeAll { $0.count <= count }
            return ready
        }
        for (continuation, items) in ready { continuation.resume(returning: items) }
    }

    public func add(_ more: [Item]) { for item in more { add(item) } }

    /// Returns all items, once there are at least `count`.
    @discardableResult
    public func first(_ count: Int) async -> [Item] {
        await withCheckedContinuation { continuation in
            let items = state.withLock { state -> [Item]? in
                if state.items.count >= count { return state.items }
                state.waiting.append((count, continuation))
                return nil
            }
            if let items { continuation.resume(returning: items) }
        }
    }
}

/// A gate that is closed until a test opens it.
public final class Gate: Sendable {
    private let opened = Collector<Void>()

    public init() {}

    public func open() { opened.add(()) }
    public func passed() async { await opened.first(1) }
}
