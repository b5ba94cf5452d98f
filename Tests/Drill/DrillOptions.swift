import ParlorContracts

/// The parsed command line.
struct DrillOptions: Sendable {
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var minutes = 1.0
    private(set) var seed = UInt64.random(in: 1...999_999)
    private(set) var clients = 24
    private(set) var groups = 5
    /// The folder of the executables; nil for this program's.
    private(set) var binaries: String?
    /// The folder of a second build; nil for none.
    private(set) var upgrade: String?
    /// The data folder; nil for a new one beside the binaries, which is removed on success.
    private(set) var data: String?
    private(set) var bus = BusKind.parlor
    /// The PostgreSQL server; nil for an SQLite file for each service.
    private(set) var databaseURL: String?
    /// The logs over which messaging spreads its rooms.
    private(set) var logs = 1
    /// The instances of each service.
    private(set) var instances = 1
    private(set) var faultKinds = Set(InjectedFault.Kind.allCases)

    static let usage = """
        parlor-drill [--FLAG VALUE]…

          --minutes M      how long faults are injected; fractions are fine (1)
          --seed N         replays the schedule of faults and what the clients choose to do (random)
          --clients N      people who are connected (24)
          --groups N       groups, into which people are added and from which they are removed (5)
          --binaries DIR   the executables to run (those beside this one)
          --upgrade DIR    the executables of another build with the same migrations: each program is started from
                           one and the other in turn, so old and new programs are on one bus (none)
          --data DIR       where the databases and logs are, and stay (a new folder, removed if all checks pass)
          --bus KIND       parlor for its own, nats for a NATS server (parlor)
          --database-url URL  an empty PostgreSQL database (SQLite files)
          --logs N         over how many logs messaging spreads its rooms, 1 to 16; several need --database-url (1)
          --instances N    of each service, 1 to 4; several need --database-url (1)
          --troubles LIST  of \(InjectedFault.Kind.allCases.map(\.rawValue).joined(separator: ", ")), or none (all)
        """

    init(_ arguments: some Sequence<String>) throws(Malformed) {
        var rest = arguments.makeIterator()
        while let argument = rest.next() {
            // `--seed=1` is `--seed 1`.
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            let flag = parts[0]
            guard let value = parts.count == 2 ? parts[1] : rest.next(), !value.isEmpty else {
                throw Malformed(description: "\(flag) needs a value")
            }
            switch flag {
            case "--minutes":
                guard let number = Double(value), (0.05...1440).contains(number) else {
                    throw Malformed(description: "--minutes needs a number from 0.05 to 1440")
                }
                minutes = number
            case "--seed":
                guard let number = UInt64(value) else { throw Malformed(description: "--seed needs a number") }
                seed = number
            case "--clients":
                guard let number = Int(value), (2...500).contains(number) else {
                    throw Malformed(description: "--clients needs a number from 2 to 500")
                }
                clients = number
            case "--groups":
                guard let number = Int(value), (0...50).contains(number) else {
                    throw Malformed(description: "--groups needs a number from 0 to 50")
                }
                groups = number
            case "--binaries": binaries = value
            case "--upgrade": upgrade = value
            case "--data": data = value
            case "--bus":
                guard let kind = BusKind(rawValue: value) else {
                    throw Malformed(description: "--bus has to be parlor or nats")
                }
                bus = kind
            case "--database-url": databaseURL = value
            case "--logs":
                guard let count = Int(value), LogLayout.range.contains(count) else {
                    throw Malformed(description: "--logs needs a number from 1 to 16")
                }
                logs = count
            case "--instances":
                guard let count = Int(value), (1...4).contains(count) else {
                    throw Malformed(description: "--instances needs a number from 1 to 4")
                }
                instances = count
            case "--troubles": faultKinds = try Self.faultKinds(value)
            default: throw Malformed(description: "unknown option \(flag)")
            }
        }
        guard databaseURL != nil || max(logs, instances) == 1 else {
            throw Malformed(description: "several logs or instances need --database-url")
        }
        // Programs of two versions do not share a schema.
        guard instances == 1 || upgrade == nil else { throw Malformed(description: "--upgrade is for one instance") }
        // Disk faults need SQLite files; database faults need a PostgreSQL server.
        faultKinds.remove(databaseURL == nil ? .database : .disk)
    }

    private static func faultKinds(_ list: String) throws(Malformed) -> Set<InjectedFault.Kind> {
        if list == "none" { return [] }
        var found = Set<InjectedFault.Kind>()
        for name in list.split(separator: ",") {
            guard let kind = InjectedFault.Kind(rawValue: String(name)) else {
                throw Malformed(description: "--troubles knows no \(name)")
            }
            found.insert(kind)
        }
        return found
    }
}
