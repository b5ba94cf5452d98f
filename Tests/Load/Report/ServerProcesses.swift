import Glibc
import TestClients

/// The processes of a server: the one that was started, and those that it has started.
struct ServerProcesses {
    /// Ids by the name of the program.
    private let ids: [String: [Int]]

    init(startedBy root: Int) {
        var ids: [String: [Int]] = [:]
        var rest = [root]
        while let id = rest.popLast() {
            if let name = Self.program(of: id) { ids[name, default: []].append(id) }
            rest += Self.children(of: id)
        }
        self.ids = ids
    }

    /// Returns the processes of a service, or of the one program that has all services.
    private func ids(of service: String) -> [Int] { ids["parlor-\(service)"] ?? ids["parlor"] ?? [] }

    /// Returns the seconds of processor time that a service has used, or that all have.
    func processorTime(of service: String? = nil) -> Double {
        let all = service.map(ids(of:)) ?? ids.values.flatMap(\.self)
        return all.compactMap(ProcessorTime.used).reduce(0, +)
    }

    /// Returns the resident bytes of a service.
    func memory(of service: String) -> Int { ids(of: service).compactMap(ProcessMemory.resident).reduce(0, +) }

    private static func program(of id: Int) -> String? {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/\(id)/exe", &path, path.count)
        guard count > 0 else { return nil }
        return path[..<count].map(UInt8.init(bitPattern:)).split(separator: UInt8(ascii: "/")).last.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private static func children(of id: Int) -> [Int] {
        guard let file = fopen("/proc/\(id)/task/\(id)/children", "r") else { return [] }
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: 4096)
        let count = fread(&text, 1, text.count, file)
        return String(decoding: text[..<count], as: UTF8.self).split(separator: " ").compactMap { Int($0) }
    }
}
