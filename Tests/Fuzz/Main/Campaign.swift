import CFuzzer
import Glibc
import Synchronization

/// One target under libFuzzer, with additional measurements: libFuzzer measures time in whole
/// seconds, and memory only for the whole process, including its own corpus.
enum Campaign {
    /// The CPU time in nanoseconds beyond which an input is a finding, sanitizers included.
    private static let maxTime = 100_000_000
    /// The limit of the process' growth after its first executions.
    private static let maxGrowth = 64 << 20
    /// The limit of memory that the targets allocated since then and did not free.
    private static let maxKept = 1 << 20
    /// The executions until caches, lazy tables and libFuzzer's first corpus are there.
    private static let warmUp = 10_000
    /// The executions between two memory measurements, each of which costs as much as some
    /// executions.
    private static let interval = 4096

    private struct Figures {
        var executions = 0
        var slowest = 0
        var slowestBytes = 0
        var firstMemory = 0
        var peakMemory = 0
        /// Memory that targets allocated and did not free, without libFuzzer's own.
        var kept = 0

        var growth: Int { max(peakMemory - firstMemory, 0) }
    }

    private static let figures = Mutex(Figures())

    /// The target named by FUZZ_TARGET; nil if it names none.
    static let target = getenv("FUZZ_TARGET").flatMap { name in
        FuzzTarget.all.first { $0.name == String(cString: name) }
    }

    static func run(_ bytes: [UInt8]) {
        guard let target else { return }
        let before = __sanitizer_get_current_allocated_bytes()
        var time = measure(target, bytes)
        // Measured once more: a page fault, or a table created on first use, is not caused by the
        // input.
        if time > maxTime / 10 { time = min(time, measure(target, bytes)) }
        let kept = __sanitizer_get_current_allocated_bytes() &- before
        let now = figures.withLock { figures in
            figures.executions += 1
            if time > figures.slowest { (figures.slowest, figures.slowestBytes) = (time, bytes.count) }
            guard figures.executions >= warmUp else { return figures }
            figures.kept += kept
            guard figures.executions % interval == 0 else { return figures }
            let memory = residentBytes()
            if figures.firstMemory == 0 { figures.firstMemory = memory }
            figures.peakMemory = max(figures.peakMemory, memory)
            return figures
        }
        if time > maxTime { fatalError("\(target.name): \(bytes.count) bytes take \(time / 1_000_000) ms") }
        if now.growth > maxGrowth { fatalError("\(target.name): memory has grown by \(now.growth >> 20) MiB") }
        if now.kept > maxKept { fatalError("\(target.name): \(now.kept) bytes were never freed") }
    }

    /// Returns the CPU time in nanoseconds. The elapsed time would include delays by other processes.
    private static func measure(_ target: FuzzTarget, _ bytes: [UInt8]) -> Int {
        let start = cpuTime()
        do throws(FuzzFinding) {
            try target.run(bytes)
        } catch {
            fatalError("\(target.name): \(error)")
        }
        return cpuTime() - start
    }

    private static func cpuTime() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    private static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 128)
        guard fgets(&text, CInt(text.count), file) != nil else { return 0 }
        let fields = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).split(
            separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * sysconf(CInt(_SC_PAGESIZE))
    }

    /// Prints a line for deploy/fuzz: `figures: EXECUTIONS GROWTH-IN-KIB KEPT-IN-BYTES
    /// SLOWEST-IN-MICROSECONDS ITS-LENGTH`.
    static func report() {
        let now = figures.withLock { $0 }
        let numbers = [
            now.executions, now.growth / 1024, now.kept, now.slowest / 1000,
            now.slowestBytes,
        ]
        let line = "figures: \(numbers.map(String.init).joined(separator: " "))\n"
        _ = Array(line.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
