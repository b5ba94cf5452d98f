/// The drill's results.
struct Report: Sendable {
    var acknowledged = 0
    var stored = 0
    var deliveryLog = DeliveryVerdict()
    var kills = 0
    var crashes = 0
    var refusals = 0
    var lostAcks = 0
    var connects = 0
    var reloads = 0
    var longestWait: Duration = .zero
    var additions = 0
    var removals = 0
    var deletedRooms = 0
    /// The events of a group that somebody received after the removal was answered.
    var afterRemoval = 0
    var longestChange: Duration = .zero
    /// The faults. If there are any, the drill has failed.
    var faults: [String] = []

    private var lostWrites = 0
    private var doubledWrites = 0
    private var compared = 0
    private var wrong = 0
    /// The number of faults listed; others are only counted, as the first show the problem.
    private static let maxFaults = 60

    mutating func fault(_ text: String) { if faults.count < Self.maxFaults { faults.append(text) } }

    mutating func lostWrite(_ what: String) {
        lostWrites += 1
        fault("acknowledged, and not in the database: \(what)")
    }

    mutating func doubledWrite(_ what: String) {
        doubledWrites += 1
        fault("twice in the database: \(what)")
    }

    mutating func compare(_ name: String, of key: StoredState.Pair, _ value: Int?, recount: Int) {
        compared += 1
        guard value != recount else { return }
        wrong += 1
        let shown = value.map(String.init) ?? "not shown"
        fault("\(name) of room \(key.a)\(key.b.isEmpty ? "" : " for \(key.b)"): \(shown), and \(recount) by a recount")
    }

    func text(seed: UInt64, minutes: Double) -> String {
        let lines = [
            ("acknowledged", "\(acknowledged)"), ("stored", "\(stored)"), ("delivered", "\(deliveryLog.delivered)"),
            ("lost", "\(lostWrites + deliveryLog.lost)"), ("doubled", "\(doubledWrites + deliveryLog.doubled)"),
            ("out of order", "\(deliveryLog.outOfOrder)"), ("never written", "\(deliveryLog.unknown)"),
            ("people", "\(additions) added, \(removals) removed, \(deletedRooms) rooms deleted"),
            ("after a removal", "\(afterRemoval) events received"),
            ("longest change", "of people: \(Self.seconds(longestChange))"),
            ("kills", "\(kills + crashes), \(crashes) of them at named points"),
            ("longest unanswered", Self.seconds(longestWait)),
            ("counters", "\(compared) compared with a recount, \(wrong) wrong"),
            ("retries", "\(refusals) after an error, \(lostAcks) after a lost ack"),
            ("connects", "\(connects), \(reloads) of them not caught up"),
            ("seed", "\(seed), \(minutes) min"),
        ]
        let table = lines.map { name, value in
            "  " + name + String(repeating: " ", count: 20 - name.count) + value
        }
        return ([""] + table + faults.map { "  FAULT: \($0)" } + [faults.isEmpty ? "all held" : "it did not hold"])
            .joined(separator: "\n")
    }

    private static func seconds(_ time: Duration) -> String {
        let hundredths = Int(time / .milliseconds(10))
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
    }
}
