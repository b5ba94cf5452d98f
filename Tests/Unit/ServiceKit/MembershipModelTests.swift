import Testing

/// A model of docs/membership.md: two sends over two instances of a keeper, a removal, an addition, and a gateway, with
/// everything that may be killed or stopped between two steps. A stop is a step that does not come for long.
///
/// All interleavings are visited. Carol is removed, Dave is added.
@Suite("Every interleaving of sends with a removal and an addition")
struct MembershipModelTests {
    /// What is left out, to see that it is needed.
    enum Omission: CaseIterable {
        case fenceInTransaction, confirmationOfGateway, heldOutput
    }

    struct Record: Hashable {
        var version = 1
        var hasCarol = true
        var hasDave = false
    }

    enum Send: Hashable {
        case waiting
        /// With the record that its instance had.
        case begun(Record)
        case committed
    }

    /// A change of people, from the call to the answer.
    enum Change: Hashable {
        case called, stored, answered
    }

    struct Entry: Hashable {
        let namesCarol: Bool
        /// True if the removal had been answered when it was committed.
        let isLate: Bool
    }

    struct World: Hashable {
        // Rooms
        var record = Record()
        var removal = Change.called
        var addition = Change.called
        /// What the pending change waits for.
        var isKeeperFenced = false
        var isGatewayFenced = false
        // The keeper: its database, its instances, their sends.
        var fence = 0
        var cached: [Record?] = [nil, nil]
        var sends = [Send.waiting, .waiting]
        var kills = 1
        // The gateway
        var log: [Entry] = []
        var hasCarolJoined = true
        var hasLease = true
        /// What is written at the end of the turn.
        var output: [Entry] = []
        /// Set when something has gone wrong.
        var leak: String?
        var hasMissedDave = false

        var isPending: Bool { removal == .stored || addition == .stored }
        var isDone: Bool {
            removal == .answered && addition == .answered && sends == [.committed, .committed] && log.isEmpty
                && output.isEmpty
        }
    }

    struct Model {
        var omitted: Omission?

        func steps(of world: World) -> [World] {
            rooms(world) + [0, 1].flatMap { instance(world, $0) } + gateway(world)
        }

        private func step(_ world: World, _ body: (inout World) -> Void) -> World {
            var next = world
            body(&next)
            return next
        }

        private func rooms(_ world: World) -> [World] {
            var next: [World] = []
            if !world.isPending {
                // The first transaction.
                if world.removal == .called {
                    next.append(
                        step(world) {
                            $0.record.version += 1
                            $0.record.hasCarol = false
                            $0.removal = .stored
                        })
                }
                if world.addition == .called {
                    next.append(
                        step(world) {
                            $0.record.version += 1
                            $0.record.hasDave = true
                            $0.addition = .stored
                        })
                }
                return next
            }
            // A fence may be stored, and its reply be lost with a kill of Rooms: it is sent again.
            if world.fence < world.record.version {
                next.append(step(world) { $0.fence = $0.record.version })
            } else if !world.isKeeperFenced {
                next.append(step(world) { $0.isKeeperFenced = true })
            }
            if omitted == .confirmationOfGateway {
                if !world.isGatewayFenced { next.append(step(world) { $0.isGatewayFenced = true }) }
            } else if !world.isGatewayFenced, world.hasLease {
                next.append(
                    step(world) {
                        $0.isGatewayFenced = true
                        if $0.removal == .stored { $0.leave() }
                    })
            } else if !world.isGatewayFenced {
                // It is silent for longer than its lease.
                next.append(step(world) { $0.isGatewayFenced = true })
            }
            if world.isKeeperFenced, world.isGatewayFenced {
                // The second transaction, and the answer.
                next.append(
                    step(world) {
                        if $0.removal == .stored { $0.removal = .answered } else { $0.addition = .answered }
                        ($0.isKeeperFenced, $0.isGatewayFenced) = (false, false)
                    })
            }
            // Rooms is killed and starts again: the pending change is still there, and nobody knows who has confirmed.
            if world.kills > 0 {
                next.append(
                    step(world) {
                        $0.kills -= 1
                        ($0.isKeeperFenced, $0.isGatewayFenced) = (false, false)
                    })
            }
            return next
        }

        private func instance(_ world: World, _ index: Int) -> [World] {
            var next: [World] = []
            switch world.sends[index] {
            case .waiting:
                guard let record = world.cached[index] else {
                    return [step(world) { $0.cached[index] = $0.record }]
                }
                next.append(step(world) { $0.sends[index] = .begun(record) })
            case .begun(let record):
                if record.version < world.fence, omitted != .fenceInTransaction {
                    next.append(
                        step(world) {
                            $0.cached[index] = nil
                            $0.sends[index] = .waiting
                        })
                } else {
                    next.append(
                        step(world) {
                            $0.sends[index] = .committed
                            $0.log.append(Entry(namesCarol: record.hasCarol, isLate: $0.removal == .answered))
                            if $0.addition == .answered, !record.hasDave { $0.hasMissedDave = true }
                            if $0.removal == .answered, record.hasCarol {
                                $0.leak = "an entry that names who was removed"
                            }
                        })
                }
            case .committed: break
            }
            if world.kills > 0, world.sends[index] != .committed {
                next.append(
                    step(world) {
                        $0.kills -= 1
                        $0.cached[index] = nil
                        $0.sends[index] = .waiting
                    })
            }
            return next
        }

        private func gateway(_ world: World) -> [World] {
            var next: [World] = []
            if let entry = world.log.first {
                next.append(
                    step(world) {
                        $0.log.removeFirst()
                        if $0.hasCarolJoined, entry.namesCarol { $0.output.append(entry) }
                    })
            }
            if !world.output.isEmpty, world.hasLease || omitted == .heldOutput {
                next.append(
                    step(world) {
                        for entry in $0.output {
                            if entry.isLate { $0.leak = "an event from after the removal" }
                            if $0.removal == .answered { $0.leak = "an event after the answer" }
                        }
                        $0.output = []
                    })
            }
            if world.hasLease {
                // It is stopped for longer than its lease.
                if world.kills > 0 {
                    next.append(
                        step(world) {
                            $0.kills -= 1
                            $0.hasLease = false
                        })
                }
            } else {
                // It goes on: it catches up before it has a lease again.
                next.append(
                    step(world) {
                        if !$0.record.hasCarol { $0.leave() }
                        $0.hasLease = true
                    })
            }
            return next
        }
    }

    /// Visits all worlds.
    ///
    /// - Returns: what has gone wrong, of any world.
    private static func visit(_ model: Model) -> (faults: Set<String>, count: Int) {
        var known: Set<World> = [World()]
        var open = [World()]
        var faults: Set<String> = []
        while let world = open.popLast() {
            if let leak = world.leak { faults.insert(leak) }
            if world.hasMissedDave { faults.insert("an entry without who was added") }
            let next = model.steps(of: world)
            if next.isEmpty, !world.isDone { faults.insert("stuck") }
            for world in next where known.insert(world).inserted { open.append(world) }
        }
        return (faults, known.count)
    }

    @Test("nothing of the room reaches who was removed, who was added misses nothing, and nothing is stuck")
    func safe() {
        let (faults, count) = Self.visit(Model())
        #expect(faults == [])
        #expect(count > 1000)
    }

    @Test("each of the rules is needed", arguments: Omission.allCases)
    func rules(omitted: Omission) {
        #expect(!Self.visit(Model(omitted: omitted)).faults.isEmpty)
    }
}

extension MembershipModelTests.World {
    /// Carol's socket leaves the room, and what waits for it is dropped.
    fileprivate mutating func leave() {
        hasCarolJoined = false
        output = []
    }
}
