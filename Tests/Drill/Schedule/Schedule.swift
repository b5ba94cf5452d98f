import ParlorTestSupport

/// The faults and their times, all derived from the seed and the length.
///
/// Two series run beside each other: kills at short intervals, and lasting faults, one at a time.
struct Schedule: Sendable {
    struct Item: Sendable {
        let at: Duration
        let injected: InjectedFault
    }

    /// The faults in the order of their times.
    let items: [Item]

    private static let crashPoints = ["before-commit", "after-commit", "after-publish"]

    init(seed: UInt64, length: Duration, of fleet: Fleet = Fleet(), kinds: Set<InjectedFault.Kind>) {
        var random = SeededGenerator(seed: seed)
        var items: [Item] = []
        if kinds.contains(.kills) || kinds.contains(.crashes) {
            items += Self.kills(length, fleet, kinds, using: &random)
        }
        items += Self.lasting(length, fleet, kinds, using: &random)
        self.items = items.sorted { $0.at < $1.at }
    }

    private static func kills(
        _ length: Duration, _ fleet: Fleet, _ kinds: Set<InjectedFault.Kind>, using random: inout SeededGenerator
    ) -> [Item] {
        var items: [Item] = []
        var at = Duration.seconds(1)
        while at < length {
            var name = fleet.all.randomElement(using: &random) ?? .messaging
            var point: String?
            let isCrash = Double.random(in: 0..<1, using: &random) < 0.4
            let writer = fleet.writers.randomElement(using: &random) ?? .messaging
            let moment = crashPoints.randomElement(using: &random) ?? "after-commit"
            // Rooms are created less often than messages.
            let count = Int.random(in: 1...(writer.service == "rooms" ? 5 : 60), using: &random)
            if isCrash, kinds.contains(.crashes) {
                name = writer
                point = "\(moment):\(count)"
            }
            let down = Duration.milliseconds(Int.random(in: 0...600, using: &random))
            items.append(Item(at: at, injected: .kill(name, down: down, crashPoint: point)))
            at += .milliseconds(Int.random(in: 1000...3000, using: &random))
        }
        return items
    }

    /// Returns the lasting faults, one after the other, with pauses between them.
    private static func lasting(
        _ length: Duration, _ fleet: Fleet, _ kinds: Set<InjectedFault.Kind>, using random: inout SeededGenerator
    ) -> [Item] {
        let lasting = InjectedFault.Kind.allCases.filter { kinds.contains($0) && $0 != .kills && $0 != .crashes }
        guard !lasting.isEmpty else { return [] }
        var items: [Item] = []
        var at = Duration.seconds(3)
        while true {
            let kind = lasting.randomElement(using: &random) ?? .reconnects
            let (injected, time) = Self.injected(of: kind, in: length, fleet, using: &random)
            guard at + time < length else { return items }
            items.append(Item(at: at, injected: injected))
            at += time + .milliseconds(Int.random(in: 2000...8000, using: &random))
        }
    }

    private static func injected(
        of kind: InjectedFault.Kind, in length: Duration, _ fleet: Fleet, using random: inout SeededGenerator
    ) -> (InjectedFault, Duration) {
        // A tenth of the whole at most, and no longer than programs have to endure. Short times are
        // more frequent than long ones.
        func time(upTo seconds: Int) -> Duration {
            let most = min(Double(seconds), length / .seconds(10))
            let share = Double.random(in: 0...1, using: &random)
            return .milliseconds(Int(1000 * most * share * share))
        }
        let name = fleet.onBus.randomElement(using: &random) ?? .messaging
        switch kind {
        case .kills, .crashes, .bus:
            let down = time(upTo: 30)
            return (.kill(.bus, down: down, crashPoint: nil), down)
        case .freezes:
            let time = .seconds(1) + time(upTo: 59)
            return (.freeze(fleet.all.randomElement(using: &random) ?? .bus, time), time)
        case .network:
            let time = .seconds(1) + time(upTo: 20)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let delay = Duration.milliseconds(Int.random(in: 1...300, using: &random))
                return (.condition(name, .slow(delay), time), time)
            case 1: return (.condition(name, .silent, time), time)
            case 2: return (.condition(name, .torn, time), time)
            default: return (.cut(name), .zero)
            }
        case .disk:
            let time = .seconds(1) + time(upTo: 20)
            return (.fullDisk(fleet.writers.randomElement(using: &random) ?? .messaging, time), time)
        case .database:
            return (.databaseLoss(fleet.services.randomElement(using: &random) ?? .messaging), .zero)
        case .clocks:
            let hours = Int.random(in: -1...1, using: &random)
            return (.clock(name, .seconds(hours * 3600)), .zero)
        case .reconnects: return (.everyoneReconnects, .zero)
        case .rolling: return (.rollingRestart, .seconds(10))
        }
    }
}
