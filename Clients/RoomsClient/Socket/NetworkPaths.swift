#if canImport(Network)
    import Network
#endif

/// Which networks the device has.
public protocol NetworkPaths: Sendable {
    /// An element each time that a network has come, or a better one than there was, until the task that asks is cancelled.
    func improvements() -> AsyncStream<Void>
}

/// The system's word, on Apple's systems; elsewhere there is none, and it ends at once.
public struct SystemNetworkPaths: NetworkPaths {
    public init() {}

    public func improvements() -> AsyncStream<Void> {
        // One that waits is enough: what it says is that something has changed.
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        #if canImport(Network)
            let monitor = NWPathMonitor()
            let last = Guarded<String?>(nil)
            monitor.pathUpdateHandler = { path in
                let name = path.status == .satisfied ? path.availableInterfaces.first?.name ?? "" : nil
                let hasImproved = last.withLock { last in
                    defer { last = name }
                    return name != nil && name != last
                }
                if hasImproved { continuation.yield() }
            }
            continuation.onTermination = { _ in monitor.cancel() }
            monitor.start(queue: .global(qos: .utility))
        #else
            continuation.finish()
        #endif
        return stream
    }
}
