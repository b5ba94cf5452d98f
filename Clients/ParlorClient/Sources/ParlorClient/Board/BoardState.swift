import Foundation

/// One room's elements and the person's unconfirmed changes, without any I/O.
///
/// Late, repeated and reordered data leads to the same result. The highest version of an element is shown, and
/// deleted elements do not return. The person's own changes take precedence until the server has confirmed them.
struct BoardState: Sendable {
    let roomID: String
    let ownID: String
    private(set) var elements: [String: Element] = [:] {
        didSet { elementsVersion += 1 }
    }
    /// Rises with each change of the elements.
    private(set) var elementsVersion = 0
    /// The elements' keys, oldest first.
    private var order: [(createdAt: Date, id: String)] = []
    private(set) var operations: [BoardOperation] = []
    private(set) var conflicts: [BoardConflict] = []
    /// The versions that this person's changes made, by element.
    private(set) var ownVersions: [String: Set<Int>] = [:]
    /// Deleted elements, which a late event or an older page must not bring back.
    private var gone = RecentValues<Bool>(limit: 2_000)
    /// Elements that a clearing removed while an edit of them was not sent yet.
    private var cleared: [String: Element] = [:]
    /// The `tempID`s of elements created here, by element id. They stay the ids of the items.
    private var tempIDs: [String: String] = [:]
    /// The elements that changed since the fetch began; nil if no fetch is running.
    private var touched: Set<String>?
    private var lastOperation = 0
    /// The moves that wait for the next position. There may also be ids of changes that no longer exist.
    private var held: Set<BoardOperation.ID> = []
    /// The version of a new element.
    private static let firstVersion = 1

    init(roomID: String, ownID: String) {
        self.roomID = roomID
        self.ownID = ownID
    }

    // MARK: Items

    /// The items, oldest first. Elements that are not stored yet come last, in the order of creation.
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
                id: id, roomID: roomID, type: type, content: content, position: position, createdBy: ownID,
                createdAt: date, updatedBy: ownID, updatedAt: date, version: 0, tempID: id)
            items[id] = BoardItem(id: id, element: element, state: .saving)
        case .edit(let content, _): items[id]?.element.content = content
        case .move(let position): items[id]?.element.position = position
        case .delete:
            // An element whose deletion was refused is shown again.
            if operation.failure == nil { items[id] = nil }
        }
        items[id]?.state = operation.failure.map(BoardItem.State.failed) ?? .saving
    }

    private func name(of id: String) -> String { tempIDs[id] ?? id }

    /// Returns an item's element id.
    func elementID(of itemID: String) -> String { tempIDs.first { $0.value == itemID }?.key ?? itemID }

    // MARK: The server's elements

    mutating func put(_ element: Element) {
        touched?.insert(element.id)
        guard gone[element.id] == nil, element.version >= elements[element.id]?.version ?? 0 else { return }
        insert(element)
        if let index = conflicts.firstIndex(where: { $0.id == element.id }) { conflicts[index].current = element }
        cleared[element.id] = nil
        settleCreation(of: element)
    }

    private mutating func insert(_ element: Element) {
        guard elements[element.id] != element, elements.updateValue(element, forKey: element.id) == nil else { return }
        var (low, high) = (order.startIndex, order.endIndex)
        while low < high {
            let middle = (low + high) / 2
            let (date, id) = order[middle]
            if (date, id) < (element.createdAt, element.id) { low = middle + 1 } else { high = middle }
        }
        order.insert((element.createdAt, element.id), at: low)
    }

    /// Removes an element that was deleted. An edit of it that was not sent becomes a conflict.
    mutating func remove(_ id: String) {
        touched?.insert(id)
        gone.set(true, for: id)
        keepEdit(of: id)
        if elements.removeValue(forKey: id) != nil { order.removeAll { $0.id == id } }
        tempIDs[id] = nil
        ownVersions[id] = nil
        operations.removeAll { $0.elementID == id }
    }

    /// Keeps what the person wrote into an element that others have deleted.
    private mutating func keepEdit(of id: String) {
        // If the server never had it, the person's own stands for it.
        let last = elements[id] ?? cleared.removeValue(forKey: id) ?? items.first { $0.element.id == id }?.element
        guard !operations.contains(where: { $0.elementID == id && $0.change == .delete }) else {
            return conflicts.removeAll { $0.id == id }
        }
        if let index = conflicts.firstIndex(where: { $0.id == id }) { conflicts[index].isDeleted = true }
        for operation in operations where operation.elementID == id {
            guard case .edit(let content, _) = operation.change else { continue }
            conflicts.removeAll { $0.id == id }
            conflicts.append(BoardConflict(id: id, of: last, createdBy: ownID, in: roomID, content: content))
        }
    }

    /// Removes all elements, because the room was cleared.
    ///
    /// They are not marked as deleted. A replayed event does not say when the room was cleared, so some of them may be
    /// newer than the clearing, and have to come back. Own changes stay; the next fetch drops those of missing
    /// elements.
    mutating func removeAll() {
        for operation in operations where operation.isEdit {
            cleared[operation.elementID] = elements[operation.elementID] ?? cleared[operation.elementID]
        }
        (elements, order, tempIDs) = ([:], [], [:])
        // Pages that are being fetched may be older than the clearing.
        touched = nil
    }

    /// The ids of all elements, and of those with a change or a conflict of this person.
    var knownIDs: Set<String> {
        Set(elements.keys).union(operations.map(\.elementID)).union(conflicts.map(\.id))
    }

    mutating func beginLoad() { touched = [] }

    /// Replaces the elements with the answer of a fetch. Events since the fetch began take precedence. If one of
    /// them cleared the room, the answer is ignored.
    mutating func finishLoad(with answer: [Element]) {
        guard let named = touched else { return }
        touched = nil
        let present = named.union(answer.map(\.id)).union(operations.filter(\.isCreation).map(\.elementID))
        for id in knownIDs.subtracting(present) { remove(id) }
        for element in answer { put(element) }
    }

    mutating func abandonLoad() { touched = nil }

    // MARK: Own changes

    mutating func create(_ tempID: String, type: String, content: JSON, position: Element.Position?, at now: Date) {
        append(.create(type: type, content: content, position: position, at: now), to: tempID)
    }

    /// - Parameter shown: the version that the person sees; nil for the current one. While missed events are replayed
    ///   it may be earlier.
    mutating func edit(_ id: String, content: JSON, shown: Int? = nil) {
        let base = elements[id].map { min($0.version, max(shown ?? $0.version, Self.firstVersion)) }
        if let index = lastWaiting(id, where: { if case .edit = $0 { true } else { false } }),
            case .edit(_, let version) = operations[index].change
        {
            operations[index].change = .edit(content: content, version: version)
            return
        }
        append(.edit(content: content, version: base), to: id)
    }

    /// Moves an element. The move waits for ``releaseMoves()``, or for the element's next change of another kind.
    mutating func move(_ id: String, to position: Element.Position?) {
        // All unsent positions of a drag are one change.
        if let index = lastWaiting(id, where: { if case .move = $0 { true } else { false } }) {
            operations[index].change = .move(position)
            held.insert(operations[index].id)
            return
        }
        append(.move(position), to: id)
        held.insert(lastOperation)
    }

    /// The moves that wait for the next position of a drag. Each is its element's last change.
    var heldMoves: Set<BoardOperation.ID> {
        held.isEmpty ? held : held.intersection(operations.map(\.id))
    }

    /// Lets all moves be sent.
    mutating func releaseMoves() { held = [] }

    mutating func delete(_ id: String) {
        let creation = operations.first { $0.elementID == id && $0.isCreation }
        // If the creation's answer was lost, the server has the element. A repeated creation returns it, and
        // then it can be deleted.
        let mayBeStored = creation.map { $0.failure == nil && tried.contains($0.id) } ?? false
        operations.removeAll { $0.elementID == id && $0.id != inFlight && !(mayBeStored && $0.isCreation) }
        conflicts.removeAll { $0.id == id }
        // An element that was never sent needs no deletion.
        if creation == nil || mayBeStored { append(.delete, to: id) }
    }

    private mutating func append(_ change: BoardOperation.Change, to id: String) {
        // A later change of the element is sent after its move, so the move does not wait any longer.
        for operation in operations where operation.elementID == id { held.remove(operation.id) }
        lastOperation += 1
        operations.append(BoardOperation(id: lastOperation, elementID: id, change: change))
    }

    /// Returns the index of an element's last change, if it is of this kind and neither refused nor being sent.
    private func lastWaiting(_ id: String, where isKind: (BoardOperation.Change) -> Bool) -> Int? {
        guard let index = operations.lastIndex(where: { $0.elementID == id }), isKind(operations[index].change),
            operations[index].id != inFlight, operations[index].failure == nil
        else { return nil }
        return index
    }

    // MARK: Sending

    /// The change that is being sent.
    private(set) var inFlight: Int?
    /// The creations that were sent before, perhaps by an earlier process.
    private var tried: Set<Int> = []

    /// Returns the next change to send. A refused change waits for the person, and so do later changes of the same
    /// element.
    mutating func takeNext() -> BoardOperation? {
        var stuck: Set<String> = []
        for operation in operations {
            if operation.failure != nil { stuck.insert(operation.elementID) }
            if stuck.contains(operation.elementID) || held.contains(operation.id) { continue }
            inFlight = operation.id
            if operation.isCreation { tried.insert(operation.id) }
            return operation
        }
        return nil
    }

    /// Ends an attempt whose change has to be sent again.
    mutating func putBack() { inFlight = nil }

    /// Removes a confirmed change, and applies the element that the server returned; nil if the element is gone, whoever has
    /// deleted it.
    mutating func finish(_ id: Int, with element: Element?) {
        inFlight = nil
        // The element's event may have ended the creation before, so `operations` do not tell.
        let isCreation = tried.remove(id) != nil
        guard let element else {
            if let operation = operations.first(where: { $0.id == id }) { remove(operation.elementID) }
            return
        }
        operations.removeAll { $0.id == id }
        put(element)
        // A creation makes version 1. An answer with a later one is a repetition: others have changed the element
        // since, so that version is not this person's, and waiting edits keep their base.
        if !isCreation { rebaseEdits(on: element) }
        if !isCreation || element.version == Self.firstVersion { noteOwn(element.version, of: element.id) }
    }

    /// Notes a version that this person has made. The versions are only needed while changes of this element wait.
    private mutating func noteOwn(_ version: Int, of id: String) {
        let isNeeded = operations.contains { $0.elementID == id }
        ownVersions[id] = isNeeded ? (ownVersions[id] ?? []).union([version]) : nil
    }

    /// Rebases edits that are based on the previous version. Only the person's own change lies between the two
    /// versions.
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
        // The person has deleted the element meanwhile, so nothing is left to do.
        if failed.isCreation,
            operations.contains(where: { $0.elementID == failed.elementID && $0.change == .delete })
        {
            operations.removeAll { $0.elementID == failed.elementID }
        }
    }

    /// True if only this person's changes raised the version since the edit's base. A move keeps the content, so the
    /// edit still applies.
    func isOwnMove(_ current: Element, since operation: BoardOperation) -> Bool {
        guard case .edit(_, let version?) = operation.change else { return false }
        return ownVersions[current.id]?.isSuperset(of: (version + 1)...max(version + 1, current.version)) ?? false
    }

    /// Bases an edit on a later version that has the same content as the edit's old base.
    mutating func rebase(_ id: Int, on version: Int) {
        inFlight = nil
        guard let index = operations.firstIndex(where: { $0.id == id }),
            case .edit(let content, _) = operations[index].change
        else { return }
        operations[index].change = .edit(content: content, version: version)
    }

    /// Ends an edit whose element others changed first: shows their content, and keeps this one as a conflict.
    mutating func conflict(_ id: Int, with current: Element) {
        inFlight = nil
        guard let index = operations.firstIndex(where: { $0.id == id }),
            case .edit(let content, _) = operations.remove(at: index).change
        else { return }
        put(current)
        conflicts.removeAll { $0.id == current.id }
        conflicts.append(BoardConflict(id: current.id, current: current, content: content))
    }

    /// - Parameter tempID: for a new element in place of one that was deleted.
    mutating func resolve(_ id: String, overwriting: Bool, tempID: String, at now: Date) {
        guard let index = conflicts.firstIndex(where: { $0.id == id }) else { return }
        let conflict = conflicts.remove(at: index)
        if conflict.isDeleted {
            let (type, position) = (conflict.current.type, conflict.current.position)
            if overwriting { create(tempID, type: type, content: conflict.content, position: position, at: now) }
            return
        }
        // After a restart the element may not be loaded yet.
        let version = elements[id]?.version ?? conflict.current.version
        if overwriting { append(.edit(content: conflict.content, version: version), to: id) }
    }

    mutating func retry(_ id: String) {
        for index in operations.indices where operations[index].elementID == id { operations[index].failure = nil }
    }

    mutating func discard(_ id: String) {
        operations.removeAll { $0.elementID == id && $0.id != inFlight }
    }

    /// Drops the conflicts of elements that the person has cleared.
    mutating func dropConflicts(of elementIDs: Set<String>) {
        conflicts.removeAll { elementIDs.contains($0.id) }
        cleared = cleared.filter { !elementIDs.contains($0.key) }
    }

    /// Drops these changes, and later ones of elements that they would have created.
    mutating func discard(_ ids: Set<BoardOperation.ID>) {
        let unmade = operations.filter { ids.contains($0.id) && $0.isCreation && $0.id != inFlight }.map(\.elementID)
        operations.removeAll { $0.id != inFlight && (ids.contains($0.id) || unmade.contains($0.elementID)) }
    }

    /// Adds the data of an earlier process. Newer data takes precedence.
    mutating func restore(
        _ kept: [Element], _ keptOperations: [BoardOperation], _ keptConflicts: [BoardConflict] = []
    ) {
        for element in kept where elements[element.id] == nil && gone[element.id] == nil { insert(element) }
        // The newer changes keep their ids, because a request in progress may refer to them.
        let earlier = keptOperations.map {
            BoardOperation(
                id: $0.id + lastOperation, elementID: $0.elementID, change: $0.change, failure: $0.failure)
        }
        operations = earlier + operations
        lastOperation = max(lastOperation, earlier.map(\.id).max() ?? 0)
        tried.formUnion(earlier.filter(\.isCreation).map(\.id))
        let newer = Set(conflicts.map(\.id))
        conflicts = keptConflicts.filter { !newer.contains($0.id) } + conflicts
        for index in conflicts.indices where gone[conflicts[index].id] != nil { conflicts[index].isDeleted = true }
        for element in elements.values { settleCreation(of: element) }
    }

    /// Ends the creation of an element that the server has stored, and gives its other changes the element's id.
    private mutating func settleCreation(of element: Element) {
        guard element.createdBy == ownID, let tempID = element.tempID, tempIDs[element.id] == nil else { return }
        tempIDs[element.id] = tempID
        operations.removeAll { $0.elementID == tempID && $0.isCreation }
        for index in operations.indices where operations[index].elementID == tempID {
            operations[index].elementID = element.id
            // This edit was made before the element had a version. Others may have changed the element since.
            if case .edit(let content, .none) = operations[index].change {
                operations[index].change = .edit(content: content, version: Self.firstVersion)
            }
        }
    }
}
