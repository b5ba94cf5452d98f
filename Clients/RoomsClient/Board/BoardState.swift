import Foundation

/// One room's elements and the changes that are on their way: all rules, and no effects. Pure.
///
/// Whatever arrives, late, doubled or out of turn: of an element the highest version is shown, one that was deleted does not come
/// back, and one's own changes stand over all until the server has them.
struct BoardState: Sendable {
    let roomID: String
    let ownID: String
    private(set) var elements: [String: Element] = [:]
    /// Of the elements, oldest first.
    private var order: [(createdAt: Date, id: String)] = []
    private(set) var operations: [BoardOperation] = []
    private(set) var conflicts: [BoardConflict] = []
    /// The versions that one's own changes have made, by element.
    private(set) var ownVersions: [String: Set<Int>] = [:]
    /// Deleted elements: a late event, or a page that was read before, does not bring them back.
    private var gone = RecentValues<Bool>(limit: 2_000)
    /// The `tempId`s of elements that were made here, by element id: items keep them as their ids.
    private var tempIDs: [String: String] = [:]
    /// The elements that events have named since a fetch of all began; nil without a fetch.
    private var touched: Set<String>?
    private var lastOperation = 0
    /// A creation makes it.
    private static let firstVersion = 1

    init(roomID: String, ownID: String) {
        self.roomID = roomID
        self.ownID = ownID
    }

    // MARK: Items

    /// Oldest first; elements that the server does not have yet, last, in the order in which they were made.
    var items: [BoardItem] {
        var items: [String: BoardItem] = [:]
        for (id, element) in elements { items[id] = BoardItem(id: name(of: id), element: element, state: .stored) }
        for operation in operations { apply(operation, to: &items) }
        return (order.map { $0.id } + operations.filter(\.isCreation).map(\.elementID)).compactMap { items[$0] }
    }

    private func apply(_ operation: BoardOperation, to items: inout [String: BoardItem]) {
        let id = operation.elementID
        switch operation.change {
        case .create(let type, let content, let position, let date):
            let element = Element(
                id: id, roomId: roomID, type: type, content: content, position: position, createdBy: ownID,
                createdAt: date, updatedBy: ownID, updatedAt: date, version: 0, tempId: id)
            items[id] = BoardItem(id: id, element: element, state: .saving)
        case .edit(let content, _): items[id]?.element.content = content
        case .move(let position): items[id]?.element.position = position
        case .delete:
            // One that could not be deleted is there.
            if operation.failure == nil { items[id] = nil }
        }
        items[id]?.state = operation.failure.map(BoardItem.State.failed) ?? .saving
    }

    private func name(of id: String) -> String { tempIDs[id] ?? id }

    /// The element's id by the item's.
    func elementID(of itemID: String) -> String { tempIDs.first { $0.value == itemID }?.key ?? itemID }

    // MARK: The server's

    mutating func put(_ element: Element) {
        touched?.insert(element.id)
        guard gone[element.id] == nil, element.version >= elements[element.id]?.version ?? 0 else { return }
        insert(element)
        if let index = conflicts.firstIndex(where: { $0.id == element.id }) { conflicts[index].current = element }
        settleCreation(of: element)
    }

    private mutating func insert(_ element: Element) {
        guard elements.updateValue(element, forKey: element.id) == nil else { return }
        var (low, high) = (order.startIndex, order.endIndex)
        while low < high {
            let middle = (low + high) / 2
            let (date, id) = order[middle]
            if (date, id) < (element.createdAt, element.id) { low = middle + 1 } else { high = middle }
        }
        order.insert((element.createdAt, element.id), at: low)
    }

    mutating func remove(_ id: String) {
        touched?.insert(id)
        gone.set(true, for: id)
        if elements.removeValue(forKey: id) != nil { order.removeAll { $0.id == id } }
        tempIDs[id] = nil
        ownVersions[id] = nil
        operations.removeAll { $0.elementID == id }
        conflicts.removeAll { $0.id == id }
    }

    /// The room was cleared. Events are sent again after a reconnect, and do not say when it was: elements may be newer than that, and
    /// come back. So may what was changed here; the next fetch drops the changes of what is gone.
    mutating func removeAll() {
        (elements, order, tempIDs) = ([:], [], [:])
        // The pages that are under way may be from before.
        touched = nil
    }

    mutating func beginLoad() { touched = [] }

    /// Replaces the elements by the answer. Events since the fetch began count more than the answer; one that clears the room makes it
    /// worthless.
    mutating func finishLoad(with answer: [Element]) {
        guard let named = touched else { return }
        touched = nil
        let present = named.union(answer.map(\.id)).union(operations.filter(\.isCreation).map(\.elementID))
        let known = Set(elements.keys).union(operations.map(\.elementID)).union(conflicts.map(\.id))
        for id in known.subtracting(present) { remove(id) }
        for element in answer { put(element) }
    }

    mutating func abandonLoad() { touched = nil }

    // MARK: Own changes

    mutating func create(_ tempID: String, type: String, content: JSON, position: Element.Position?, at now: Date) {
        append(.create(type: type, content: content, position: position, at: now), to: tempID)
    }

    mutating func edit(_ id: String, content: JSON) {
        let base = elements[id]?.version
        if let index = lastWaiting(id, where: { if case .edit = $0 { true } else { false } }),
            case .edit(_, let version) = operations[index].change
        {
            operations[index].change = .edit(content: content, version: version)
            return
        }
        append(.edit(content: content, version: base), to: id)
    }

    mutating func move(_ id: String, to position: Element.Position?) {
        // A drag is one change, however many places it passes.
        if let index = lastWaiting(id, where: { if case .move = $0 { true } else { false } }) {
            operations[index].change = .move(position)
            return
        }
        append(.move(position), to: id)
    }

    mutating func delete(_ id: String) {
        let creation = operations.first { $0.elementID == id && $0.isCreation }
        // Its answer may have been lost: then the server has the element. Asked again it says so, and it can be deleted.
        let mayBeStored = creation.map { $0.failure == nil && tried.contains($0.id) } ?? false
        operations.removeAll { $0.elementID == id && $0.id != inFlight && !(mayBeStored && $0.isCreation) }
        conflicts.removeAll { $0.id == id }
        // An element that the server has never had needs no deletion.
        if creation == nil || mayBeStored { append(.delete, to: id) }
    }

    private mutating func append(_ change: BoardOperation.Change, to id: String) {
        lastOperation += 1
        operations.append(BoardOperation(id: lastOperation, elementID: id, change: change))
    }

    /// The last change of an element, if it is of a kind and not under way.
    private func lastWaiting(_ id: String, where isKind: (BoardOperation.Change) -> Bool) -> Int? {
        guard let index = operations.lastIndex(where: { $0.elementID == id }), isKind(operations[index].change),
            operations[index].id != inFlight, operations[index].failure == nil
        else { return nil }
        return index
    }

    // MARK: Sending

    /// The change that the server is asked for now.
    private(set) var inFlight: Int?
    /// The creations that the server was asked for, perhaps by an earlier process.
    private var tried: Set<Int> = []

    /// The next change to send. A failed one waits for its person, and so do later ones of the same element.
    mutating func takeNext() -> BoardOperation? {
        var stuck: Set<String> = []
        for operation in operations {
            if operation.failure != nil { stuck.insert(operation.elementID) }
            if stuck.contains(operation.elementID) { continue }
            inFlight = operation.id
            if operation.isCreation { tried.insert(operation.id) }
            return operation
        }
        return nil
    }

    /// It is tried again.
    mutating func putBack() { inFlight = nil }

    mutating func finish(_ id: Int, with element: Element?) {
        inFlight = nil
        let operation = operations.first { $0.id == id }
        operations.removeAll { $0.id == id }
        tried.remove(id)
        if let element {
            put(element)
            // What a creation made is version 1; a later one in its answer is others' change.
            if operation?.isCreation != true { rebaseEdits(on: element) }
            // They explain versions to changes that are based on earlier ones: without such a change nobody asks.
            ownVersions[element.id] =
                operations.contains { $0.elementID == element.id }
                ? (ownVersions[element.id] ?? []).union([element.version]) : nil
        } else if let operation, case .delete = operation.change {
            remove(operation.elementID)
        }
    }

    /// Between the version before and this one there is one's own change alone: edits that are based on that one need no other look.
    private mutating func rebaseEdits(on element: Element) {
        for index in operations.indices where operations[index].elementID == element.id {
            guard case .edit(let content, let version?) = operations[index].change, version == element.version - 1
            else { continue }
            operations[index].change = .edit(content: content, version: element.version)
        }
    }

    mutating func fail(_ id: Int, _ failure: SendFailure) {
        inFlight = nil
        guard let index = operations.firstIndex(where: { $0.id == id }) else { return }
        let failed = operations[index]
        operations[index].failure = failure
        // Deleted meanwhile: there is nothing to delete, and nobody to ask.
        if failed.isCreation,
            operations.contains(where: { $0.elementID == failed.elementID && $0.change == .delete })
        {
            operations.removeAll { $0.elementID == failed.elementID }
        }
    }

    /// The content is the same as the change was based on, under a later version.
    mutating func rebase(_ id: Int, on version: Int) {
        inFlight = nil
        guard let index = operations.firstIndex(where: { $0.id == id }),
            case .edit(let content, _) = operations[index].change
        else { return }
        operations[index].change = .edit(content: content, version: version)
    }

    /// Others have changed the element first: theirs is shown, and one's own content is kept for its person to decide.
    mutating func conflict(_ id: Int, with current: Element) {
        inFlight = nil
        guard let index = operations.firstIndex(where: { $0.id == id }),
            case .edit(let content, _) = operations.remove(at: index).change
        else { return }
        put(current)
        conflicts.removeAll { $0.id == current.id }
        conflicts.append(BoardConflict(id: current.id, current: current, content: content))
    }

    mutating func resolve(_ id: String, overwriting: Bool) {
        guard let index = conflicts.firstIndex(where: { $0.id == id }) else { return }
        let conflict = conflicts.remove(at: index)
        // Of an earlier process' conflict the element may not be here yet.
        let version = elements[id]?.version ?? conflict.current.version
        if overwriting { append(.edit(content: conflict.content, version: version), to: id) }
    }

    mutating func retry(_ id: String) {
        for index in operations.indices where operations[index].elementID == id { operations[index].failure = nil }
    }

    mutating func discard(_ id: String) {
        operations.removeAll { $0.elementID == id && $0.id != inFlight }
    }

    /// Drops these changes, and what was done since to elements that they would have made.
    mutating func discard(_ ids: Set<BoardOperation.ID>) {
        let unmade = operations.filter { ids.contains($0.id) && $0.isCreation && $0.id != inFlight }.map(\.elementID)
        operations.removeAll { $0.id != inFlight && (ids.contains($0.id) || unmade.contains($0.elementID)) }
    }

    /// Adds what an earlier process stored. Everything since then counts more.
    mutating func restore(
        _ kept: [Element], _ keptOperations: [BoardOperation], _ keptConflicts: [BoardConflict] = []
    ) {
        for element in kept where elements[element.id] == nil && gone[element.id] == nil { insert(element) }
        // Those made since then stay what they are: a call may have noted them.
        let earlier = keptOperations.map {
            BoardOperation(
                id: $0.id + lastOperation, elementID: $0.elementID, change: $0.change, failure: $0.failure)
        }
        operations = earlier + operations
        lastOperation = max(lastOperation, earlier.map(\.id).max() ?? 0)
        tried.formUnion(earlier.filter(\.isCreation).map(\.id))
        let newer = Set(conflicts.map(\.id))
        conflicts = keptConflicts.filter { gone[$0.id] == nil && !newer.contains($0.id) } + conflicts
        for element in elements.values { settleCreation(of: element) }
    }

    /// The element that a `tempId` of one's own was to make is there: changes of it go by its id from now on.
    private mutating func settleCreation(of element: Element) {
        guard element.createdBy == ownID, let tempID = element.tempId, tempIDs[element.id] == nil else { return }
        tempIDs[element.id] = tempID
        operations.removeAll { $0.elementID == tempID && $0.isCreation }
        for index in operations.indices where operations[index].elementID == tempID {
            operations[index].elementID = element.id
            // It was made to what the creation has made. Others may have changed that before the answer came.
            if case .edit(let content, .none) = operations[index].change {
                operations[index].change = .edit(content: content, version: Self.firstVersion)
            }
        }
    }
}
