import Glibc

extension Metrics {
    /// Registers the process's resources, under the names that Prometheus's own clients use.
    func watchProcess() {
        counter(
            "process_cpu_seconds_total", "Processor time, user and system, in seconds.",
            seconds: { Self.processorSeconds })
        gauge("process_resident_memory_bytes", "Resident memory, in bytes.") { Self.residentBytes }
        let start = Double(time(nil))
        gauge("process_start_time_seconds", "Start time, in seconds since 1970.") { start }
    }

    private static var processorSeconds: Double {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return 0 }
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// The resident memory: the second number of `/proc/self/statm`, in pages. The file is in memory, so
    /// reading it blocks on no disk.
    private static var residentBytes: Double {
        let bytes = SmallFile.contents(of: "/proc/self/statm", upTo: 128) ?? []
        let numbers = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard numbers.count > 1, let pages = Double(numbers[1]) else { return 0 }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }
}
