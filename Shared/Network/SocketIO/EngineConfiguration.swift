/// What a client learns in the handshake, and how long an upgrade may take.
public struct EngineConfiguration: Sendable {
    public var pingInterval: Duration
    public var pingTimeout: Duration
    /// The most bytes a client may put into one message or one POST.
    public var maxPayload: Int
    /// From a WebSocket's attaching to the upgrade's end. After it the session goes on by polling.
    public var upgradeTimeout: Duration

    /// The reference server's defaults.
    public init(
        pingInterval: Duration = .seconds(25), pingTimeout: Duration = .seconds(20), maxPayload: Int = 1_000_000,
        upgradeTimeout: Duration = .seconds(10)
    ) {
        self.pingInterval = pingInterval
        self.pingTimeout = pingTimeout
        self.maxPayload = maxPayload
        self.upgradeTimeout = upgradeTimeout
    }
}
