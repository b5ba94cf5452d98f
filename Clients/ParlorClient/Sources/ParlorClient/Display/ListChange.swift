/// A list as it is now, and what has changed since it was observed before: for UIKit, AppKit and other lists that are
/// not SwiftUI's. ``ObservedValues/changes`` yields them.
public struct ListChange<Items: RandomAccessCollection & Sendable>: Sendable
where Items.Element: Identifiable & Equatable, Items.Element.ID: Sendable {
    public typealias ID = Items.Element.ID

    public let items: Items
    /// The items that are gone, in their earlier order.
    public let removed: [ID]
    /// The new items, in order.
    public let inserted: [ID]
    /// The items that have changed their place among those that were there before, in order. It is the smallest such
    /// set: if a room goes to the top, it is that room.
    public let moved: [ID]
    /// The items with another content, in order. Such an item may also be in ``moved``.
    public let updated: [ID]

    var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }

    init(from old: Items, to items: Items) {
        let (start, end) = Self.sharedEnds(of: old, items)
        let (before, after) = (old.dropFirst(start).dropLast(end), items.dropFirst(start).dropLast(end))
        let places = Dictionary(zip(before.map(\.id), before.indices), uniquingKeysWith: { first, _ in first })
        var (inserted, updated): ([ID], [ID]) = ([], [])
        var stayed: [(id: ID, place: Items.Index)] = []
        for item in after {
            guard let place = places[item.id] else {
                inserted.append(item.id)
                continue
            }
            stayed.append((item.id, place))
            if before[place] != item { updated.append(item.id) }
        }
        let ids = Set(after.map(\.id))
        self.items = items
        removed = before.map(\.id).filter { !ids.contains($0) }
        self.inserted = inserted
        self.updated = updated
        let fixed = Self.longestAscent(in: stayed.map(\.place))
        moved = stayed.indices.filter { !fixed.contains($0) }.map { stayed[$0].id }
    }

    init(all items: Items) {
        self.items = items
        (removed, moved, updated) = ([], [], [])
        inserted = items.map(\.id)
    }

    /// Returns how many items at the start, and how many at the end, are the same in both.
    private static func sharedEnds(of old: Items, _ new: Items) -> (start: Int, end: Int) {
        let shorter = min(old.count, new.count)
        var (start, end) = (0, 0)
        if let old = old as? MessageItems, let new = new as? MessageItems {
            // A long chat shares nearly all of its chunks with the value before.
            start = old.sharedStart(with: new)
            end = min(old.sharedEnd(with: new), shorter - start)
        }
        for (one, other) in zip(old.dropFirst(start), new.dropFirst(start)) where start + end < shorter {
            guard one == other else { break }
            start += 1
        }
        let ends = zip(old.dropLast(end).reversed(), new.dropLast(end).reversed())
        for (one, other) in ends where start + end < shorter {
            guard one == other else { break }
            end += 1
        }
        return (start, end)
    }

    /// Returns the positions of a longest ascending subsequence (patience sorting).
    private static func longestAscent(in places: [Items.Index]) -> Set<Int> {
        // For each length, the position of the lowest last place of an ascent with that length.
        var lasts: [Int] = []
        var previous: [Int?] = []
        for (position, place) in places.enumerated() {
            var (low, high) = (0, lasts.count)
            while low < high {
                let middle = (low + high) / 2
                if places[lasts[middle]] < place { low = middle + 1 } else { high = middle }
            }
            previous.append(low == 0 ? nil : lasts[low - 1])
            if low == lasts.count { lasts.append(position) } else { lasts[low] = position }
        }
        var ascent: Set<Int> = []
        var next = lasts.last
        while let position = next {
            ascent.insert(position)
            next = previous[position]
        }
        return ascent
    }
}

extension ObservedValues
where Value: RandomAccessCollection, Value.Element: Identifiable & Equatable, Value.Element.ID: Sendable {
    /// The values of an observed list, each with what has changed since the one before. In the first one, all items are
    /// inserted. Values without a change are left out.
    ///
    /// ```swift
    /// for await change in ObservedValues({ client.rooms.rooms }).changes {
    ///     print(change.items.count, change.inserted, change.moved, change.updated, change.removed)
    /// }
    /// ```
    public var changes: AsyncStream<ListChange<Value>> {
        let (next, last) = (makeReader(), Guarded<Value?>(nil))
        return AsyncStream {
            while let items = await next() {
                let before = last.withLock { last in
                    defer { last = items }
                    return last
                }
                guard let before else { return ListChange(all: items) }
                let change = ListChange(from: before, to: items)
                if !change.isEmpty { return change }
            }
            return nil
        }
    }
}
