import ParlorClientTesting

extension Interleaving {
    /// Makes the history of a seed, which is always the same.
    init(seed: UInt64) {
        var maker = InterleavingMaker(seed: seed)
        self.seed = seed
        before = maker.makeBeginning()
        steps = (0..<InterleavingMaker.steps).map { _ in maker.makeStep() } + maker.makeEnding()
        end = maker.room.map { "\($0.seq) \($0.text)" + ($0.isRead ? " read" : "") }
    }
}

/// Makes the steps of a history. It knows what they depend on: the room, and own messages that are not stored yet.
private struct InterleavingMaker {
    static let steps = 60

    struct Stored {
        let seq: Int
        let text: String
        let isOwn: Bool
        var isRead = false
    }

    private var random: SeededGenerator
    private(set) var room: [Stored] = []
    private var lastSeq = 0
    private var otherCount = 0
    private var typedCount = 0
    /// The numbers of own messages that are not sent yet, in the order typed.
    private var waiting: [Int] = []
    private var refused: [Int] = []
    private var isConnected = true
    private var isEntered = true

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func makeBeginning() -> Int {
        let count = below(13)
        for number in 0..<count { store("before \(number)", isOwn: false) }
        return count
    }

    mutating func makeStep() -> Interleaving.Step {
        // A room that was left, or a lost connection, soon comes back, because little happens meanwhile.
        if !isEntered, below(5) == 0 { return makeVisit() }
        if !isConnected, below(5) == 0 { return makeConnection() }
        switch below(100) {
        case ..<12:
            waiting.append(typedCount)
            typedCount += 1
            return .type
        case ..<24: return makeOther()
        case ..<31:
            guard !room.isEmpty else { return makeOther() }
            let index = below(room.count)
            room.remove(at: index)
            return .delete(index)
        case ..<36:
            let unread = room.indices.filter { room[$0].isOwn && !room[$0].isRead }
            guard let index = pick(unread) else { return makeOther() }
            room[index].isRead = true
            return .read(index)
        case ..<56: return .deliver(below(3))
        case ..<61: return .again(below(100))
        case ..<69:
            guard let number = waiting.first else { return makePage() }
            return makeSend(number, pick(Interleaving.Fate.allCases) ?? .lost)
        case ..<84: return makePage()
        case ..<89: return .release(below(100))
        case ..<92: return makeConnection()
        case ..<94: return makeVisit()
        case ..<96: return .wait(milliseconds: 100 + below(5_900))
        case ..<97: return .older
        case ..<98:
            guard let index = pick(room.indices.filter { room[$0].isOwn }) else { return .older }
            room.remove(at: index)
            return .remove(index, below(2) == 0 ? .answered : .answerLost)
        case ..<99:
            guard let number = pick(refused) else { return makeRestart() }
            refused.removeAll { $0 == number }
            guard below(2) == 0 else { return .discard(number) }
            return makeRetry(number)
        default: return makeRestart()
        }
    }

    /// Makes the last steps, after which all own messages that were not discarded are stored.
    mutating func makeEnding() -> [Interleaving.Step] {
        var steps: [Interleaving.Step] = []
        if !isConnected { steps.append(.connect) }
        if !isEntered { steps.append(.enter) }
        for number in waiting { steps.append(makeSend(number, .answered)) }
        for number in refused.sorted() { steps += [makeRetry(number), makeSend(number, .answered)] }
        return steps
    }

    private mutating func makeOther() -> Interleaving.Step {
        store("other \(otherCount)", isOwn: false)
        otherCount += 1
        return .other
    }

    private mutating func makePage() -> Interleaving.Step {
        .page(below(100), pick(Interleaving.Fate.ofPages) ?? .lost)
    }

    private mutating func makeSend(_ number: Int, _ fate: Interleaving.Fate) -> Interleaving.Step {
        if fate != .lost { waiting.removeAll { $0 == number } }
        if fate == .refused {
            refused.append(number)
        } else if fate != .lost {
            store("mine \(number)", isOwn: true)
        }
        return .send(number, fate)
    }

    /// Makes a retry. The message is sent before waiting messages that were typed later.
    private mutating func makeRetry(_ number: Int) -> Interleaving.Step {
        waiting.insert(number, at: waiting.firstIndex { $0 > number } ?? waiting.endIndex)
        return .retry(number)
    }

    private mutating func makeConnection() -> Interleaving.Step {
        isConnected.toggle()
        return isConnected ? .connect : .disconnect(keepsEvents: below(2) == 0)
    }

    private mutating func makeVisit() -> Interleaving.Step {
        isEntered.toggle()
        return isEntered ? .enter : .leave
    }

    /// Makes a restart, after which the client is connected and the room is entered.
    private mutating func makeRestart() -> Interleaving.Step {
        (isConnected, isEntered) = (true, true)
        return .restart(isPrepared: below(2) == 0)
    }

    private mutating func store(_ text: String, isOwn: Bool) {
        lastSeq += 1
        room.append(Stored(seq: lastSeq, text: text, isOwn: isOwn))
    }

    /// Returns a number below `count`. It does not use the standard library's method, which may change in later
    /// versions.
    private mutating func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    private mutating func pick<Value>(_ values: [Value]) -> Value? {
        values.isEmpty ? nil : values[below(values.count)]
    }
}
