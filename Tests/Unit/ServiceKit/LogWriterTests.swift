import Glibc
import ParlorServiceKit
import ParlorWorkers
import Testing

@Suite("the log's thread")
struct LogWriterTests {
    /// A pipe whose reader reads on the test's command.
    private struct Pipe: ~Copyable {
        let reading: Int32
        let writing: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 })
            (reading, writing) = (ends[0], ends[1])
        }

        deinit {
            close(reading)
            close(writing)
        }
    }

    private func writer(to descriptor: Int32, maxBytes: Int = LogWriter.maxBytes) -> LogWriter {
        LogWriter(descriptor, maxBytes: maxBytes) { count, sink in sink(Array("\(count) dropped\n".utf8)) }
    }

    private func log(_ count: Int, to writer: LogWriter) {
        for index in 0..<count { writer.write(Array("line \(index)\n".utf8)) }
    }

    private static func dropped(in lines: [Substring]) -> Int {
        lines.filter { $0.hasSuffix("dropped") }.reduce(0) { $0 + (Int($1.prefix { $0 != " " }) ?? 0) }
    }

    /// Reads until so many lines were written or reported missing.
    private func read(_ count: Int, from descriptor: Int32, on workers: WorkerPool) async throws -> [Substring] {
        try await workers.run {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let received = Glibc.read(descriptor, &buffer, buffer.count)
                bytes += buffer.prefix(max(received, 0))
                guard received <= 0 || bytes.last == UInt8(ascii: "\n") else { continue }
                let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
                let written = lines.count { !$0.hasSuffix("dropped") }
                if received <= 0 || written + Self.dropped(in: lines) >= count { return lines }
            }
        }
    }

    @Test("lines are written whole and in order, and all of them before it is closed")
    func order() async throws {
        let pipe = try Pipe()
        let workers = WorkerPool(threads: 1, maxWaiting: 1)
        let writer = writer(to: pipe.writing)
        log(1000, to: writer)
        await writer.close(within: .seconds(60))
        let lines = try await read(1000, from: pipe.reading, on: workers)
        #expect(lines == (0..<1000).map { "line \($0)" })
        #expect(writer.dropped == 0)
        await workers.close()
    }

    @Test("nobody waits for a reader that stalls; when it reads again, a line says how many are missing")
    func nobodyReads() async throws {
        let pipe = try Pipe()
        let workers = WorkerPool(threads: 1, maxWaiting: 1)
        let writer = writer(to: pipe.writing, maxBytes: 4096)
        log(50_000, to: writer)
        #expect(writer.dropped > 0)
        let lines = try await read(50_000, from: pipe.reading, on: workers)
        #expect(Self.dropped(in: lines) == writer.dropped)
        #expect(lines.last?.hasSuffix("dropped") == true)
        writer.write(Array("later\n".utf8))
        #expect(try await read(1, from: pipe.reading, on: workers) == ["later"])
        await writer.close(within: .seconds(60))
        await workers.close()
    }

    @Test("closing gives up on a stalled reader, and later lines are dropped")
    func closing() async throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 })
        let writer = writer(to: ends[1])
        log(20_000, to: writer)
        await writer.close(within: .milliseconds(10))
        let dropped = writer.dropped
        log(1, to: writer)
        #expect(writer.dropped == dropped + 1)
        // Its thread has the rest to write still: until it ends the descriptor must not become another test's.
        close(ends[0])
        await writer.close(within: .seconds(60))
        close(ends[1])
    }

    @Test("the closing line is the last, after those that say what is missing")
    func lastLine() async throws {
        let pipe = try Pipe()
        let workers = WorkerPool(threads: 1, maxWaiting: 1)
        let writer = writer(to: pipe.writing, maxBytes: 4096)
        log(20_000, to: writer)
        #expect(writer.dropped > 0)
        async let closed: Void = writer.close(with: Array("the reason\n".utf8), within: .seconds(60))
        let lines = try await read(20_001, from: pipe.reading, on: workers)
        await closed
        #expect(lines.last == "the reason")
        await workers.close()
    }

    @Test("a lost reader ends only the log")
    func gone() async throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 })
        close(ends[0])
        let writer = writer(to: ends[1])
        log(10, to: writer)
        await writer.close(within: .seconds(60))
        close(ends[1])
    }
}
