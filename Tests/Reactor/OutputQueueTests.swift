import Testing

@testable import Reactor

@Suite struct OutputQueueTests {
    @Test("whatever the pieces and however little is taken, the bytes come out in order")
    func anyPieces() throws {
        var random = SplitMix(state: 11)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        defer { buffer.deallocate() }
        for _ in 0..<10 {
            var queue = OutputQueue()
            var written: [UInt8] = []
            var taken: [UInt8] = []
            for _ in 0..<100 {
                let size = [0, 1, 100, 3_000, 20_000][Int(random.next() % 5)]
                let piece = (0..<size).map { UInt8(truncatingIfNeeded: written.count &+ $0 &* 7) }
                queue.append(piece)
                written += piece
                while !queue.isEmpty, random.next() % 4 != 0 { take(from: &queue) }
                try #require(queue.byteCount == written.count - taken.count)
            }
            while !queue.isEmpty { take(from: &queue) }
            try #require(taken == written)

            func take(from queue: inout OutputQueue) {
                let part = queue.withNext(joinedIn: buffer) { bytes in
                    Array(bytes.prefix(Int(random.next() % UInt64(bytes.count)) + 1))
                }
                queue.consume(part.count)
                taken += part
            }
        }
    }
}
