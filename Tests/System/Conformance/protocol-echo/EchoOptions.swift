import Glibc
import ParlorEdge
import ParlorSocketIO

/// The command line: `--port N --ping-interval MS --ping-timeout MS --connect-timeout MS`, each with a default.
struct EchoOptions {
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var port: UInt16 = 0
    private var pingInterval = 25_000
    private var pingTimeout = 20_000
    private var connectTimeout = 45_000

    init(_ arguments: some Sequence<String>) throws(Malformed) {
        var rest = arguments.makeIterator()
        while let flag = rest.next() {
            // `--port=1` is `--port 1`.
            let parts = flag.split(separator: "=", maxSplits: 1).map(String.init)
            guard let value = parts.count == 2 ? parts[1] : rest.next(), let number = Int(value), number >= 0 else {
                throw Malformed(description: "\(flag) needs a number")
            }
            switch parts.first {
            case "--port":
                guard let port = UInt16(exactly: number) else { throw Malformed(description: "no port: \(number)") }
                self.port = port
            case "--ping-interval": pingInterval = number
            case "--ping-timeout": pingTimeout = number
            case "--connect-timeout": connectTimeout = number
            default: throw Malformed(description: "unknown option \(flag)")
            }
        }
    }

    var configuration: EdgeConfiguration {
        let engine = EngineConfiguration(
            pingInterval: .milliseconds(pingInterval), pingTimeout: .milliseconds(pingTimeout))
        var socketIO = EdgeEndpoint(
            path: "/socket.io/", .socketIO(engine, SocketIOConfiguration(namespaces: ["/", "/custom"])))
        socketIO.connectTimeout = .milliseconds(connectTimeout)
        let engineIO = EdgeEndpoint(
            path: "/engine.io/", .engineIO(engine) { socket, message in Echo.sendBack(message, to: socket) })
        var configuration = EdgeConfiguration(endpoints: [engineIO, socketIO])
        // An echo sends everything back before anyone reads: the suites write much, and then read.
        configuration.maxUnsentBytes = 64 << 20
        // Nobody signs in here, and the suites' largest message exceeds a stranger's share.
        configuration.limits.bufferedBytes.perAddress = nil
        return configuration
    }

    static func printLine(_ text: String) { write(text, to: STDOUT_FILENO) }

    /// Exits with code 2, as for a wrong command line.
    static func fail(_ text: String) -> Never {
        write(text, to: STDERR_FILENO)
        exit(2)
    }

    /// Writes at once, whatever the descriptor is.
    private static func write(_ text: String, to descriptor: Int32) {
        _ = Array("\(text)\n".utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
