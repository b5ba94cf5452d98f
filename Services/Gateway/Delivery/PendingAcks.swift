import ParlorContracts
import ParlorReactor

/// The positions up to which each stream was fanned out to a loop's sockets, and the acks that wait for them.
struct PendingAcks {
    struct Ack {
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
    /// The waiting acks by stream and seq, so that an entry finds its acks at once, however many wait.
    private var waiting: [String: [Int: [Ack]]] = [:]

    func hasReached(_ position: StreamPosition) -> Bool { reached[position.stream] ?? 0 >= position.seq }

    mutating func hold(_ ack: Ack, until position: StreamPosition) {
        waiting[position.stream, default: [:]][position.seq, default: []].append(ack)
    }

    /// Moves a stream to a position: by the next entry, past missing ones, or back, after a restore of the
    /// database.
    ///
    /// - Returns: the acks that need not wait any longer.
    mutating func reach(_ position: StreamPosition) -> [Ack] {
        let isNext = reached[position.stream].map { position.seq == $0 &+ 1 } ?? false
        reached[position.stream] = position.seq
        guard waiting[position.stream]?.isEmpty == false else { return [] }
        if isNext { return waiting[position.stream]?.removeValue(forKey: position.seq) ?? [] }
        let passed = waiting[position.stream]?.keys.filter { $0 <= position.seq }.sorted() ?? []
        return passed.flatMap { waiting[position.stream]?.removeValue(forKey: $0) ?? [] }
    }

    /// Forgets a stream, which has ended.
    ///
    /// - Returns: the acks that waited for it.
    mutating func end(_ stream: String) -> [Ack] {
        reached[stream] = nil
        return waiting.removeValue(forKey: stream)?.sorted { $0.key < $1.key }.flatMap(\.value) ?? []
    }

    /// - Returns: the ack, if it still waits.
    mutating func remove(_ id: Int, at position: StreamPosition) -> Ack? {
        guard var acks = waiting[position.stream]?[position.seq], let index = acks.firstIndex(where: { $0.id == id })
        else { return nil }
        let ack = acks.remove(at: index)
        waiting[position.stream]?[position.seq] = acks.isEmpty ? nil : acks
        return ack
    }
}
