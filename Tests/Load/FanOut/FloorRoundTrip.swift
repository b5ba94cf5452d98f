import ParlorReactor
import ParlorTestSupport
import TestClients

/// The round trip of a frame through `bench-floor`: the shortest possible answer of any server on
/// this machine at this time.
enum FloorRoundTrip {
    private static let times = 1000
    private static let payload = 100

    /// Returns the median in milliseconds. Blocks its loop: nothing else may be running.
    static func median(_ floor: ServerAddress) throws -> Double {
        let socket = try BlockingSocket(port: floor.port)
        defer { socket.disconnect() }
        let frame = [0x81, UInt8(payload)] + [UInt8](repeating: 0x78, count: payload)
        var latencies = Latencies()
        for _ in 0..<times {
            let start = LoopInstant.now()
            try socket.send(frame)
            guard try socket.receive(frame.count) == frame else {
                throw ClientError("the floor answers with another frame")
            }
            latencies.record(since: start)
        }
        return latencies.quantile(0.5)
    }
}
