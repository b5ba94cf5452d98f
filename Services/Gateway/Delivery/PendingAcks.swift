import ParlorContracts
import ParlorReactor
import ParlorServiceKit

/// The positions up to which each log was fanned out to a loop's sockets, and the acks that wait for them. It stays on its loop.
final class PendingAcks {
    struct Ack {
        let id: Int
        fileprivate let timer: LoopTimer
        fileprivate let goOn: () -> Void

        func release() {
            timer.cancel()
            goOn()
        }
    }

    /// The number before all entries. A log has passed it as soon as it starts, at whatever position.
    static let anyStart = 0

    private let loop: EventLoop
    private let log: Logger
    private var lastID = 0
    /// The last position of each log.
    private(set) var reached: [LogID: Int] = [:]
    /// The waiting acks by log and seq, so that an entry finds its acks at once, however many wait.
    private var waiting: [LogID: [Int: [Ack]]] = [:]

    init(on loop: EventLoop, log: Logger) {
        self.loop = loop
        self.log = log
    }

    func hasReached(_ position: EntryPosition) -> Bool { reached[position.log] ?? 0 >= position.seq }

    /// Holds an ack until its position is reached, or for as long as the limit.
    func hold(_ goOn: @escaping () -> Void, until position: EntryPosition, for limit: Duration) {
        lastID += 1
        let timer = loop.schedule(after: limit) { [weak self, lastID] in
            self?.timeOut(lastID, at: position, after: limit)
        }
        waiting[position.log, default: [:]][position.seq, default: []].append(
            Ack(id: lastID, timer: timer, goOn: goOn))
    }

    private func timeOut(_ id: Int, at position: EntryPosition, after limit: Duration) {
        guard var acks = waiting[position.log]?[position.seq], let index = acks.firstIndex(where: { $0.id == id })
        else { return }
        let ack = acks.remove(at: index)
        waiting[position.log]?[position.seq] = acks.isEmpty ? nil : acks
        if position.seq != Self.anyStart {
            log.warning(
                "an answer comes before its event",
                ["log": position.log.name, "seq": position.seq, "ms": limit.milliseconds])
        }
        ack.release()
    }

    /// Moves a log to a position: by the next entry, past missing ones, or back, after a restore of the
    /// database.
    ///
    /// - Returns: the acks that need not wait any longer.
    func reach(_ position: EntryPosition) -> [Ack] {
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
    func end(_ logID: LogID) -> [Ack] {
        reached[logID] = nil
        return waiting.removeValue(forKey: logID)?.sorted { $0.key < $1.key }.flatMap(\.value) ?? []
    }
}
