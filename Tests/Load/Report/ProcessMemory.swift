import Glibc

/// The memory of another process.
enum ProcessMemory {
    /// Returns resident bytes (proc_pid_status(5), `VmRSS`); nil if there is no such process.
    static func resident(_ process: Int) -> Int? {
        guard let file = fopen("/proc/\(process)/status", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let fields = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split { $0 == " " || $0 == "\t" || $0 == "\n" }
            if fields.first == "VmRSS:", fields.count > 1 { return Int(fields[1]).map { $0 * 1024 } }
        }
        return nil
    }
}
