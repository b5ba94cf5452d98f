import ParlorReactor

/// A proxy between one program and the bus, with injected faults.
actor BusProxy {
    enum NetworkCondition: Sendable, Equatable, CustomStringConvertible {
        case clear
        /// Delays all data by this time.
        case slow(Duration)
        /// Holds all data without closing; it arrives when the fault ends, as with TCP.
        case silent
        /// Forwards one byte at a time.
        case torn

        var description: String {
            switch self {
            case .clear: "is clear"
            case .slow(let delay): "is \(delay) late"
            case .silent: "is silent"
            case .torn: "comes byte by byte"
            }
        }
    }

    /// The bus' port; nil while there is none.
    private var target: UInt16?
    private var condition = NetworkCondition.clear
    private var links: [LoopBound<ProxyLink>] = []
    private nonisolated let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init(on loop: EventLoop) { self.loop = loop }

    /// - Returns: the proxy and its address.
    static func start(scheme: String, on group: EventLoopGroup) throws -> (proxy: BusProxy, address: String) {
        let proxy = BusProxy(on: group.loops[0])
        let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { channel in
            let link = ProxyLink(channel)
            let bound = LoopBound(link, to: channel.loop)
            proxy.assumeIsolated { $0.take(bound) }
            return link
        }
        return (proxy, "\(scheme)://127.0.0.1:\(listener.port)")
    }

    func lead(to port: UInt16?) {
        target = port
        if port == nil { cut() }
    }

    func change(to condition: NetworkCondition) {
        self.condition = condition
        for link in links { link.object.change(to: condition) }
    }

    /// Ends all connections; new ones are accepted.
    func cut() {
        let ending = links
        links = []
        for link in ending { link.object.abort() }
    }

    private func take(_ link: LoopBound<ProxyLink>) {
        guard let target else { return link.object.abort() }
        links.removeAll { $0.object.hasEnded }
        links.append(link)
        link.object.change(to: condition)
        Task {
            do {
                try await loop.connect(host: "127.0.0.1", port: target, timeout: .seconds(2)) { channel in
                    link.object.attach(channel)
                    return link.object
                }
            } catch {
                link.object.abort()
            }
        }
    }
}
