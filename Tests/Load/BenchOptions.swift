import TestClients

/// The parsed command line.
struct BenchOptions {
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    enum Measurement: String, CaseIterable {
        case myRooms = "my-rooms"
        case send
        case throughput
        case sqlite
        case postgres
        case returning = "return"
        case push
        case fanOut = "fanout"
        case joined
        case bus
        case start
        case connect
        case growth
        case groups
        case client
        case minute
    }

    private(set) var server = ServerAddress(host: "", port: 0)
    var rooms: Int { givenRooms ?? 200 }
    /// The rooms of the person in `minute`.
    var clientRooms: Int { givenRooms ?? ClientMinute.standardRooms }
    /// The length of `minute`.
    var clientSeconds: Int { givenSeconds ?? 60 }
    var sends: Int { givenSends ?? (isShort ? 500 : 2000) }
    var seconds: Int { givenSeconds ?? (isShort ? 1 : 5) }
    private(set) var senders = 16
    private(set) var inFlight = 16
    private(set) var listeners = 0
    private(set) var clients = 5000
    private(set) var notifications = 10_000
    private(set) var notificationLog: String?
    private(set) var floor: ServerAddress?
    private(set) var bus: ServerAddress?
    private(set) var nats: ServerAddress?
    private(set) var serverProcess: Int?
    private(set) var floorProcess: Int?
    private(set) var parlor: String?
    private(set) var parlorCore: Int?
    private(set) var scratchFolder: String?
    private var givenMessages: Int?
    private(set) var syncFolder: String?
    private(set) var database: String?
    private(set) var jsonPath: String?
    private(set) var storedPath: String?
    private(set) var storePath: String?
    private var named: [Measurement]?
    private var givenRooms: Int?
    private var givenSends: Int?
    private var givenSeconds: Int?

    /// Returns the number of messages in the database of `measurement`.
    func messages(in measurement: Measurement) -> Int {
        givenMessages ?? (measurement == .growth ? 10_000_000 : isShort ? 100_000 : 1_000_000)
    }

    /// Whether no row is named, which selects the short form of the table.
    var isShort: Bool { named == nil }

    /// The rows to measure, in order. The short form takes two minutes at most. It leaves out the rows
    /// whose server or program is not given.
    var measurements: [Measurement] {
        if let named { return Measurement.allCases.filter(named.contains) }
        var found: [Measurement] = [.myRooms, .send, .throughput]
        if floor != nil { found.append(.fanOut) }
        if bus != nil { found.append(.bus) }
        if parlor != nil { found.append(.start) }
        return found
    }

    static let usage = """
        parlor-bench http://HOST:PORT [--FLAG VALUE]…   the server needs RATE_LIMITS=off

          --only LIST       of my-rooms, send, throughput, sqlite, postgres, return, push, fanout, joined, bus, start, connect,
                            growth, groups, client, minute (a short form of the quick ones)
          --rooms N         the caller's rooms in my-rooms (200) and minute (500)
          --sends N         messages sent one after the other in send (2000; 500 in the short form)
          --senders N       sockets in throughput, two in a room (16)
          --in-flight N     unacknowledged messages of each of them (16)
          --listeners N     more sockets in throughput, which hear of every message (0)
          --clients N       sockets that come back in return, or come in connect (5000)
          --messages N      messages in the database that start (1000000; short form: 100000) or growth (10000000) makes
          --parlor FILE     the program that start and growth run themselves
          --parlor-core N   the core that they run it on; any by default
          --scratch DIR     the folder for that program's data, on a disk; the caller removes it
          --pushes N        notifications of each turn in push (10000)
          --push-log FILE   the log of the server that plays Apple's, for push
          --floor URL       the address of bench-floor, http://HOST:PORT, for fanout, joined and growth
          --bus URL         the address of parlor-bus, in the same form, for bus
          --nats URL        the address of nats-server, in the same form, for bus (none)
          --server-pid N    the server's process, to see its memory in fanout, and its
                            processor time in groups
          --floor-pid N     the floor's, to see its processor time in growth
          --seconds N       how long each measurement of a rate takes (5; 1 in the short form; 60 in minute)
          --fsync-dir DIR   a folder on the data folder's disk, to measure fdatasync (send, throughput) and SQLite in
          --database URL    the address of a PostgreSQL server, for postgres
          --json FILE       write the rows as JSON, too
          --compare FILE    warn of each ratio that is worse by more than a fifth than the one stored there
          --store FILE      store the ratios there
        """

    init(_ arguments: some Sequence<String>) throws(Malformed) {
        var rest = arguments.makeIterator()
        guard let url = rest.next() else { throw Malformed(description: "the server's address is missing") }
        server = try Self.address(url)
        while let argument = rest.next() {
            // `--rooms=1` is `--rooms 1`.
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            let flag = parts[0]
            guard let value = parts.count == 2 ? parts[1] : rest.next(), !value.isEmpty else {
                throw Malformed(description: "\(flag) needs a value")
            }
            switch flag {
            case "--only": named = try Self.measurements(value)
            case "--rooms": givenRooms = try Self.count(value, of: flag)
            case "--sends": givenSends = try Self.count(value, of: flag)
            case "--senders": senders = try Self.count(value, of: flag)
            case "--in-flight": inFlight = try Self.count(value, of: flag)
            case "--listeners": listeners = try Self.count(value, of: flag)
            case "--clients": clients = try Self.count(value, of: flag)
            case "--pushes": notifications = try Self.count(value, of: flag)
            case "--push-log": notificationLog = value
            case "--seconds": givenSeconds = try Self.count(value, of: flag)
            case "--fsync-dir": syncFolder = value
            case "--database": database = value
            case "--floor": floor = try Self.address(value)
            case "--bus": bus = try Self.address(value)
            case "--nats": nats = try Self.address(value)
            case "--server-pid": serverProcess = try Self.process(value)
            case "--floor-pid": floorProcess = try Self.process(value)
            case "--messages": givenMessages = try Self.count(value, of: flag)
            case "--parlor": parlor = value
            case "--parlor-core": parlorCore = try Self.count(value, of: flag, from: 0)
            case "--scratch": scratchFolder = value
            case "--json": jsonPath = value
            case "--compare": storedPath = value
            case "--store": storePath = value
            default: throw Malformed(description: "unknown option \(flag)")
            }
        }
        guard senders.isMultiple(of: 2) else { throw Malformed(description: "--senders has to be even: two in a room") }
    }

    private static func measurements(_ list: String) throws(Malformed) -> [Measurement] {
        var found: [Measurement] = []
        for name in list.split(separator: ",") {
            guard let measurement = Measurement(rawValue: String(name)) else {
                throw Malformed(description: "--only knows no \(name)")
            }
            found.append(measurement)
        }
        return found
    }

    private static func address(_ url: String) throws(Malformed) -> ServerAddress {
        guard let address = ServerAddress(url: url) else { throw Malformed(description: "no address: \(url)") }
        return address
    }

    private static func process(_ text: String) throws(Malformed) -> Int {
        guard let process = Int32(text), process > 0 else { throw Malformed(description: "no process: \(text)") }
        return Int(process)
    }

    private static func count(_ text: String, of flag: String, from least: Int = 1) throws(Malformed) -> Int {
        guard let number = Int(text), (least...100_000_000).contains(number) else {
            throw Malformed(description: "\(flag) needs a number from \(least) to 100000000")
        }
        return number
    }
}
