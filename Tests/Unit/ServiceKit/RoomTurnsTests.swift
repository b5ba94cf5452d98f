import ParlorContracts
import ParlorTestSupport
import Testing

@testable import ParlorServiceKit

@Suite("Who runs with a room's record")
struct RoomTurnsTests {
    private static func record(_ version: Int) -> Membership {
        Membership(roomID: "room", version: version, participants: [])
    }

    /// A room, a database that runs writes one after the other, and the owner of the record, without threads.
    private struct Room {
        var turns = RoomTurns<Int>()
        var cached: Membership?
        /// The version that the owner has, and the one below which the database refuses.
        var (version, fence) = (1, 1)
        /// The answer to the request for the record that is in progress.
        var answer: Membership?
        var queue: [(request: Int, version: Int)] = []
        var refused: [(request: Int, version: Int)] = []
        var (committed, failed, found): ([Int], [Int], [Int]) = ([], [], [])
        var asked = 0

        init(cached: Membership? = nil) { self.cached = cached }

        mutating func enter(_ request: Int) {
            if !turns.isAsked, let cached {
                note(.run)
                queue.append((request, cached.version))
            } else {
                note(.enter(request))
            }
        }

        mutating func find(_ caller: Int) { note(.find(caller)) }

        mutating func ask() {
            asked += 1
            cached = nil
            answer = RoomTurnsTests.record(version)
        }

        mutating func reply() {
            guard let answer else { return }
            self.answer = nil
            note(.answer(.success(answer)))
        }

        mutating func fail() {
            answer = nil
            note(.answer(.failure(.roomNotFound)))
        }

        /// Runs the first write of the queue.
        mutating func commit() {
            guard !queue.isEmpty else { return }
            let write = queue.removeFirst()
            if write.version >= fence {
                committed.append(write.request)
                note(.leave)
            } else {
                refused.append(write)
            }
        }

        /// Lets a request know that its write was refused.
        ///
        /// - Parameter index: which of those that do not know it yet.
        mutating func refuse(_ index: Int = 0) {
            guard !refused.isEmpty else { return }
            let write = refused.remove(at: index % refused.count)
            note(.renew(write.request, place: write.request, after: write.version))
        }

        mutating func note(_ change: RoomTurns<Int>.Change) {
            var step = turns.note(change)
            while case .deliver(let requests, let answer) = step {
                for request in requests {
                    switch answer {
                    case .success where request < 0: found.append(request)
                    case .success(let record): queue.append((request, record.version))
                    case .failure: failed.append(request)
                    }
                }
                step = turns.note(.delivered)
            }
            switch step {
            case .ask: ask()
            case .finish(let answer): cached = try? answer.get()
            case .deliver, .wait: break
            }
        }

        mutating func change() {
            version += 1
            fence = version
        }

        mutating func runAll() {
            while answer != nil || !queue.isEmpty || !refused.isEmpty {
                reply()
                commit()
                refuse()
            }
        }
    }

    /// Returns a room with so many requests, of which the first was refused, as the record has changed since.
    private func room(requests: Int) -> Room {
        var room = Room(cached: Self.record(1))
        for request in 0..<requests { room.enter(request) }
        room.change()
        room.commit()
        room.refuse()
        return room
    }

    @Test("requests commit in the order in which they came, however often the record changes", arguments: 1...300)
    func order(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var room = Room()
        var next = 0
        for _ in 0..<400 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<4:
                room.enter(next)
                next += 1
            case 4..<7: room.commit()
            case 7, 8: room.reply()
            case 9, 10: room.refuse(.random(in: 0..<100, using: &random))
            default:
                room.version += 1
                // The owner commits a change before the fence is stored.
                if Bool.random(using: &random) { room.fence = room.version }
            }
        }
        room.runAll()
        #expect(room.committed == Array(0..<next))
        #expect(room.turns.isIdle)
    }

    @Test("a request that is repeated is not overtaken by one that runs with the same stale record, or comes later")
    func notOvertaken() {
        var room = room(requests: 3)
        room.enter(3)
        // The answer is there before the other two have run.
        room.reply()
        #expect(room.queue.map(\.request) == [1, 2])
        room.runAll()
        #expect(room.committed == [0, 1, 2, 3] && room.asked == 1)
    }

    @Test("an answer that is stale when it comes is asked for again")
    func staleAnswer() {
        var room = Room()
        room.enter(0)
        room.change()
        room.runAll()
        #expect(room.committed == [0] && room.asked == 2)
    }

    @Test("who wants the record alone does not wait for requests that still run")
    func finding() {
        var room = room(requests: 2)
        room.find(-1)
        room.reply()
        room.find(-2)
        #expect(room.found == [-1, -2] && room.queue.map(\.request) == [1])
        room.runAll()
        #expect(room.committed == [0, 1])
    }

    @Test("if the record cannot be had, all who wait fail, and the next one asks again")
    func failure() {
        var room = room(requests: 2)
        room.enter(2)
        // Also while another one runs.
        room.fail()
        #expect(room.failed == [0, 2])
        room.runAll()
        #expect(room.committed == [1] && room.asked == 2 && room.turns.isIdle)
        room.enter(3)
        room.runAll()
        #expect(room.committed == [1, 3])
    }
}
