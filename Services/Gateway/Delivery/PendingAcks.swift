import ParlorContracts
import ParlorReactor

/// The positions up to which each log was fanned out to a loop's sockets, and the acks that wait for them.
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

    /// The last position of each log.
    private(set) var reached: [LogID: Int] = [:]
    /// The waiting acks by log and seq, so that an entry finds its acks at once, however many wait.
    private var waiting: [LogID: [Int: [Ack]]] = [:]

    func hasReached(_ position: EntryPosition) -> Bool { reached[position.log] ?? 0 >= position.seq }

    mutating func hold(_ ack: Ack, until position: EntryPosition) {
        waiting[position.log, default: [:]][position.seq, default: []].append(ack)
    }

    /// Moves a log to a position: by the next entry, past missing ones, or back, after a restore of the
    /// database.
    ///
    /// - Returns: the acks that need not wait any longer.
    mutating func reach(_ position: EntryPosition) -> [Ack] {
        let isNext = reached[position.log].map { position.seq == $0 &+ 1 } ?? false
        reached[position.log] = position.seq
        guard waiting[position.log]?.isEmpty == false else { return [] }
        if isNext { return waiting[position.log]?.removeValue(forKey: position.seq) ?? [] }
        let passed = waiting[position.log]?.keys.filter { $0 <= position.seq }.sorted() ?? []
        return passed.flatMap { waiting[position.log]?.removeValue(forKey: $0) ?? [] }
    }

    /// Forgets a log, which has ended.
    ///
    /// - Returns: the acks that waited for it.
    mutating func end(_ logID: LogID) -> [Ack] {
        reached[logID] = nil
        return waiting.removeValue(forKey: logID)?.sorted { $0.key < $1.key }.flatMap(\.value) ?? []
    }

    /// - Returns: the ack, if it still waits.
    mutating func remove(_ id: Int, at position: EntryPosition) -> Ack? {
        guard var acks = waiting[position.log]?[position.seq], let index = acks.firstIndex(where: { $0.id == id })
        else { return nil }
        let ack = acks.remove(at: index)
        waiting[position.log]?[position.seq] = acks.isEmpty ? nil : acks
        return ack
    }
}
