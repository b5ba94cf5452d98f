/// A subscription as it is made anew on each connection.
enum TCPBusSubscription: Sendable {
    case events(pattern: String, queue: String?, @Sendable (BusMessage) -> Void)
    case requests(pattern: String, queue: String, @Sendable (BusRequest) -> Void)

    func write(id: UInt64, to out: inout [UInt8]) {
        switch self {
        case .events(let pattern, let queue, _): LineWriter.subscribe(id, pattern, queue: queue, to: &out)
        case .requests(let pattern, let queue, _): LineWriter.serve(id, pattern, queue: queue, to: &out)
        }
    }
}
