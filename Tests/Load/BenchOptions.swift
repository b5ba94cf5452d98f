import TestClients

/// The command line.
struct BenchOptions {
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    enum Measurement: String, CaseIterable {
        case myRooms = "my-rooms"
        case send
        case throughput
        case returning = "return"
        case push
        case fanOut = "fanout"
        case client
    }

    private(set) var server = ServerAddress(host: "", port: 0)
    private(set) var rooms = 200
    private(set) var sends = 2000
    private(set) var seconds = 5
    private(set) var senders = 16
    private(set) var inFlight = 16
    private(set) var clients = 5000
    private(set) var notifications = 10_000
    private(set) var notificationLog: String?
    private(set) var floor: ServerAddress?
    private(set) var serverProcess: Int?
    private(set) var syncFolder: String?
    private(set) var jsonPath: String?
    private var chosen = Self.standard

    /// Those that are over within half a minute.
    private static let standard: [Measurement] = [.myRooms, .send, .throughput]

    func includes(_ measurement: Measurement) -> Bool { chosen.contains(measurement) }

    static let usage = """
        parlor-bench http://HOST:PORT [--FLAG VALUE]…   the server needs RATE_LIMITS=off

          --only LIST       of my-rooms, send, throughput, return, fanout, push, client; the first three by default
          --rooms N         the caller's rooms in my-rooms (200)
          --sends N         messages sent one after the other in send (2000)
          --senders N       sockets in throughput, two in a room (16)
          --in-flight N     unacknowledged messages of each of them (16)
          --clients N       sockets that come back in return (5000)
          --pushes N        notifications of each turn in push (10000)
          --push-log FILE   what the server that plays Apple's writes down, for push
          --floor URL       where bench-floor listens, for fanout; as a server's address
          --server-pid N    the server's process, to see its memory in fanout
          --seconds N       how long each measurement of a rate takes (5)
          --fsync-dir DIR   measure fdatasync there, beside send: a folder on the data folder's disk
          --json FILE       write the rows as JSON, too
        """

    init(_ arguments: some Sequence<String>) throws(Malformed) {
        var rest = arguments.makeIterator()
        guard let url = rest.next() else { throw Malformed(description: "the server's address is missing") }
        guard let server = ServerAddress(url: url) else { throw Malformed(description: "no address: \(url)") }
        self.server = server
        while let argument = rest.next() {
            // `--rooms=1` is `--rooms 1`.
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            let flag = parts[0]
            guard let value = parts.count == 2 ? parts[1] : rest.next(), !value.isEmpty else {
                throw Malformed(description: "\(flag) needs a value")
            }
            switch flag {
            case "--only": chosen = try Self.measurements(value)
            case "--rooms": rooms = try Self.count(value, of: flag)
            case "--sends": sends = try Self.count(value, of: flag)
            case "--senders": senders = try Self.count(value, of: flag)
            case "--in-flight": inFlight = try Self.count(value, of: flag)
            case "--clients": clients = try Self.count(value, of: flag)
            case "--pushes": notifications = try Self.count(value, of: flag)
            case "--push-log": notificationLog = value
            case "--seconds": seconds = try Self.count(value, of: flag)
            case "--fsync-dir": syncFolder = value
            case "--floor":
                guard let address = ServerAddress(url: value) else {
                    throw Malformed(description: "no address: \(value)")
                }
                floor = address
            case "--server-pid":
                guard let process = Int32(value), process > 0 else {
                    throw Malformed(description: "no process: \(value)")
                }
                serverProcess = Int(process)
            case "--json": jsonPath = value
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

    private static func count(_ text: String, of flag: String) throws(Malformed) -> Int {
        guard let number = Int(text), (1...1_000_000).contains(number) else {
            throw Malformed(description: "\(flag) needs a number from 1 to 1000000")
        }
        return number
    }
}
