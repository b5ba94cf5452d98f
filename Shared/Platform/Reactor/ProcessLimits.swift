import Glibc

public enum DescriptorLimit {
    /// Raises the limit of open descriptors to what the system permits; shells start processes with 1,024.
    /// Returns the limit.
    @discardableResult
    public static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        limit.rlim_cur = limit.rlim_max
        // Within the hard limit this is always allowed.
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }
}

public enum MemoryLimit {
    /// The memory that this process may use, in bytes: its container's limit, if that is less than the machine has.
    public static var bytes: Int {
        let machine = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        // Control groups of version 2, then of version 1. A container sees its own at the root.
        let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        return group.compactMap(number).reduce(machine, min)
    }

    /// Returns the file's number; nil for `max`, or without such a file.
    private static func number(inFile path: String) -> Int? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = fread(&bytes, 1, bytes.count, file)
        return Int(String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
