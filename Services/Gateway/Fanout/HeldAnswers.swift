import Contracts
import Reactor

/// How far each stream has been fanned out to a loop's sockets, and the answers that wait for it to get there.
struct HeldAnswers {
    struct Answer {
        let id: Int
        let timer: LoopTimer
        let goOn: () -> Void

        func release() {
            timer.cancel()
            goOn()
        }
    }

    /// The last position of each stream.
    private(set) var reached: [String: Int] = [:]
    /// By stream and seq: an entry finds its answers at once, however many wait.
    private var waiting: [String: [Int: [Answer]]] = [:]

    func hasReached(_ position: StreamPosition) -> Bool { reached[position.stream] ?? 0 >= position.seq }

    mutating func hold(_ answer: Answer, until position: StreamPosition) {
        waiting[position.stream, default: [:]][position.seq, default: []].append(answer)
    }

    /// The stream has got there: by the next entry, past some that are gone, or back, with a restored database.
    ///
    /// - Returns: the answers that wait no longer.
    mutating func reach(_ position: StreamPosition) -> [Answer] {
        let isNext = position.seq == (reached[position.stream] ?? 0) &+ 1
        reached[position.stream] = position.seq
        guard waiting[position.stream]?.isEmpty == false else { return [] }
        if isNext { return waiting[position.stream]?.removeValue(forKey: position.seq) ?? [] }
        let passed = waiting[position.stream]?.keys.filter { $0 <= position.seq }.sorted() ?? []
        return passed.flatMap { waiting[position.stream]?.removeValue(forKey: $0) ?? [] }
    }

    /// - Returns: the answer, if it still waits.
    mutating func remove(_ id: Int, at position: StreamPosition) -> Answer? {
        guard var answers = waiting[position.stream]?[position.seq],
            let index = answers.firstIndex(where: { $0.id == id })
        else { return nil }
        let answer = answers.remove(at: index)
        waiting[position.stream]?[position.seq] = answers.isEmpty ? nil : answers
        return answer
    }
}
