import ParlorTestSupport
import Testing

@testable import ParlorReactor

@Suite struct OutputQueueTests {
    @Test("a queue of tiny pieces costs the pieces' memory, and not their bytes alone")
    func cost() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        defer { buffer.deallocate() }
        var queue = OutputQueue()
        for _ in 0..<1000 { queue.append([1, 2], after: buffer) }
        #expect(queue.byteCount == 2000 && queue.cost >= 60_000)
        while !queue.isEmpty { queue.consume(min(100, queue.byteCount)) }
        #expect(queue.cost == 0)
    }

    @Test("each queue's bytes are written whole and in order, whatever the receivers and however little is accepted")
    func anyPieces() throws {
        var random = SeededGenerator(seed: 11)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        var broadcasts = TurnOutput()
        defer {
            buffer.deallocate()
            broadcasts.deallocate()
        }
        var queues = [OutputQueue](repeating: OutputQueue(), count: 4)
        var written = [[UInt8]](repeating: [], count: queues.count)
        var taken = written
        var isBlocked = [Bool](repeating: false, count: queues.count)
        var made = 0

        for _ in 0..<300 {
            for _ in 0..<random.next() % 6 {
                let size = [1, 100, 3_000, 20_000][Int(random.next() % 4)]
                made += 1
                let piece = (0..<size).map { UInt8(truncatingIfNeeded: made &+ $0 &* 7) }
                let isForAll = random.next() % 2 == 0
                for index in queues.indices where isForAll || random.next() % 4 == 0 { write(piece, to: index) }
            }
            for index in queues.indices {
                isBlocked[index] = false
                while !queues[index].isEmpty, !isBlocked[index] { take(from: index) }
                if isBlocked[index] { queues[index].settle(broadcasts.buffer) }
                try #require(queues[index].byteCount == written[index].count - taken[index].count)
            }
            broadcasts.reset()
            // What lay there is gone: nothing may refer to it.
            broadcasts.buffer.initializeMemory(as: UInt8.self, repeating: 0xEE)
        }
        for index in queues.indices {
            while !queues[index].isEmpty { take(from: index) }
            try #require(taken[index] == written[index])
        }

        func write(_ piece: [UInt8], to index: Int) {
            if !isBlocked[index], let range = broadcasts.range(of: piece) {
                queues[index].append(range, of: broadcasts.buffer)
            } else {
                queues[index].append(piece, after: broadcasts.buffer)
            }
            written[index] += piece
        }

        func take(from index: Int) {
            let part = queues[index].withNext(of: broadcasts.buffer, joinedIn: buffer) { bytes in
                isBlocked[index] = random.next() % 3 == 0
                return Array(
                    bytes.prefix(isBlocked[index] ? Int(random.next() % UInt64(bytes.count)) + 1 : bytes.count))
            }
            queues[index].consume(part.count)
            taken[index] += part
        }
    }

    @Test("a broadcast is one stretch from the second receiver on, and a large one is not copied")
    func broadcasts() {
        var broadcasts = TurnOutput()
        defer { broadcasts.deallocate() }
        let small = [UInt8](repeating: 1, count: 10)
        #expect(broadcasts.range(of: small) == nil)
        #expect(broadcasts.range(of: small) == 0..<10)
        #expect(broadcasts.range(of: small) == 0..<10)
        let equalButAnother = [UInt8](repeating: 1, count: 10)
        #expect(broadcasts.range(of: equalButAnother) == nil)
        #expect(broadcasts.range(of: equalButAnother) == 10..<20)
        let large = [UInt8](repeating: 2, count: 1 << 20)
        #expect(broadcasts.range(of: large) == nil)
        #expect(broadcasts.range(of: large) == nil)
        broadcasts.reset()
        #expect(broadcasts.range(of: small) == nil)
        #expect(broadcasts.range(of: small) == 0..<10)
    }
}
