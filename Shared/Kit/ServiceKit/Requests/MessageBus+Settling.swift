import MessageBus

extension MessageBus {
    /// How often a bus that is away is looked for.
    private static var settlingInterval: Duration { .milliseconds(50) }

    /// Returns when the bus knows of all that was subscribed: whoever hears of the service from then on may ask it.
    ///
    /// A bus that goes meanwhile is waited for, however long, as at the start of a program: it is told anew once it is back.
    /// - Throws: `CancellationError`; what `flush` throws, but for `BusError.disconnected`.
    public func settle() async throws {
        while true {
            do {
                return try await flush()
            } catch BusError.disconnected {
                try await Task.sleep(for: Self.settlingInterval)
            }
        }
    }
}
