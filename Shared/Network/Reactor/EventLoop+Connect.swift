extension EventLoop {
    /// Connects to a TCP port, trying the host's addresses one after the other.
    ///
    /// Names are looked up on a thread of their own. Cancelling the task ends the attempt.
    /// - Parameter timeout: for all of it, the lookup included.
    /// - Parameter makeHandler: called on this loop, before anything is received.
    @discardableResult
    public func connect(
        host: String, port: UInt16, timeout: Duration = .seconds(10),
        makeHandler: @escaping @Sendable (Channel) -> any ChannelHandler
    ) async throws(ConnectError) -> Channel {
        let connector = Connector(host: host, port: port, timeout: timeout, loop: self, makeHandler: makeHandler)
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if !submit(.work { connector.start { continuation.resume(returning: $0) } }) {
                    continuation.resume(returning: .failure(.loopStopped))
                }
            }
        } onCancel: {
            execute { connector.finish(.failure(.cancelled)) }
        }.get()
    }
}

public enum ConnectError: Error, Hashable, Sendable, CustomStringConvertible {
    case unknownHost(String, String)
    /// The last address's failure.
    case failed(SystemError)
    case timedOut
    case cancelled
    case loopStopped

    public var description: String {
        switch self {
        case .unknownHost(let host, let reason): "unknown host \(host): \(reason)"
        case .failed(let error): "\(error)"
        case .timedOut: "timed out"
        case .cancelled: "cancelled"
        case .loopStopped: "the event loop has stopped"
        }
    }
}
