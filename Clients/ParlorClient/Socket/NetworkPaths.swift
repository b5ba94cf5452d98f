#if canImport(Network)
    import Network
#endif

/// The networks that the device has.
public protocol NetworkPaths: Sendable {
    /// Yields when a network becomes available, and when the preferred one changes, until the caller is
    /// cancelled.
    func improvements() -> AsyncStream<Void>
}

/// The system's networks on Apple's systems. Elsewhere the stream ends at once.
public struct SystemNetworkPaths: NetworkPaths {
    public init() {}

    public func improvements() -> AsyncStream<Void> {
        // One waiting element is enough: it only means that something has changed.
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
