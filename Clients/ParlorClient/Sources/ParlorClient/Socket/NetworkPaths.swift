#if canImport(Network)
    import Network
#endif

/// Reports changes of the networks that the device can use.
package protocol NetworkPaths: Sendable {
    /// Returns a stream that yields when a network becomes available, and when the preferred one changes. It ends
    /// when the task that reads it is cancelled.
    func improvements() -> AsyncStream<Void>
}

/// The networks as Apple's systems report them. On other systems the stream ends at once.
package struct SystemNetworkPaths: NetworkPaths {
    package init() {}

    package func improvements() -> AsyncStream<Void> {
        // One buffered element is enough: it only says that something has changed.
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
