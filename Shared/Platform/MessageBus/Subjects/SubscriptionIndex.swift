/// The subscribers by pattern: a trie of tokens, and a table with the matches of recent subjects, so that a
/// subject in use takes one lookup.
package struct SubscriptionIndex<Subscriber> {
    /// The subscribers whose patterns match a subject, each list in the order of subscription.
    package struct Match {
        /// The subscribers outside any queue group.
        package fileprivate(set) var everyone: [Subscriber] = []
        package fileprivate(set) var groups: [QueueGroup<Subscriber>] = []

        package var isEmpty: Bool { everyone.isEmpty && groups.isEmpty }
    }

    private struct Entry {
        let id: UInt64
        let queue: String?
        let instance: UInt64
        let subscriber: Subscriber
    }

    private struct Node {
        var entries: [Entry] = []
        /// The children by token; `*` and `>` are tokens that no subject can have.
        var children: [Substring: Node] = [:]

        var isEmpty: Bool { entries.isEmpty && children.isEmpty }
    }

    private var root = Node()
    private var patterns: [UInt64: String] = [:]
    private var recent: [String: Match] = [:]

    /// The limit of recent subjects. Subjects are few by design. But if subjects contain ids, the table must not grow
    /// for ever.
    private static var maxRecent: Int { 4096 }

    package init() {}

    package var count: Int { patterns.count }

    /// Adds a subscription.
    ///
    /// - Parameters:
    ///   - id: an unused id; subscriptions are ordered by it.
    ///   - instance: the instance of the subscriber. In a queue group, a key selects the same instance on every
    ///     subject.
    package mutating func insert(
        _ subscriber: Subscriber, id: UInt64, pattern: String, queue: String?, instance: UInt64
    ) {
        precondition(patterns.updateValue(pattern, forKey: id) == nil, "subscription \(id) twice")
        let entry = Entry(id: id, queue: queue, instance: instance, subscriber: subscriber)
        Self.change(&root, pattern.split(separator: ".")[...]) { $0.entries.append(entry) }
        recent.removeAll(keepingCapacity: true)
    }

    /// Removes a subscription. Does nothing if it does not exist.
    package mutating func remove(_ id: UInt64) {
        guard let pattern = patterns.removeValue(forKey: id) else { return }
        Self.change(&root, pattern.split(separator: ".")[...]) { $0.entries.removeAll { $0.id == id } }
        recent.removeAll(keepingCapacity: true)
    }

    /// Returns the receivers of a subject (not of a pattern).
    package mutating func match(_ subject: String) -> Match {
        if let known = recent[subject] { return known }
        var entries: [Entry] = []
        Self.collect(root, subject.split(separator: ".")[...], into: &entries)
        let match = Self.match(entries.sorted { $0.id < $1.id })
        if recent.count >= Self.maxRecent { recent.removeAll(keepingCapacity: true) }
        recent[subject] = match
        return match
    }

    private static func match(_ entries: [Entry]) -> Match {
        var match = Match()
        for entry in entries {
            guard let queue = entry.queue else {
                match.everyone.append(entry.subscriber)
                continue
            }
            let member = QueueGroup.Member(id: entry.id, instance: entry.instance, subscriber: entry.subscriber)
            if let group = match.groups.firstIndex(where: { $0.queue == queue }) {
                match.groups[group].members.append(member)
            } else {
                match.groups.append(QueueGroup(queue: queue, members: [member]))
            }
        }
        return match
    }

    private static func collect(_ node: Node, _ tokens: ArraySlice<Substring>, into entries: inout [Entry]) {
        guard let token = tokens.first else {
            entries += node.entries
            return
        }
        if let tail = node.children[">"] { entries += tail.entries }
        if let any = node.children["*"] { collect(any, tokens.dropFirst(), into: &entries) }
        if let exact = node.children[token] { collect(exact, tokens.dropFirst(), into: &entries) }
    }

    /// Changes the node at the end of a path, and removes nodes that become empty.
    private static func change(_ node: inout Node, _ path: ArraySlice<Substring>, _ body: (inout Node) -> Void) {
        guard let token = path.first else { return body(&node) }
        change(&node.children[token, default: Node()], path.dropFirst(), body)
        if node.children[token]?.isEmpty == true { node.children[token] = nil }
    }
}
