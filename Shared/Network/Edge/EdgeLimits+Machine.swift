import Reactor

extension EdgeLimits {
    /// What a machine has room for.
    ///
    /// Some descriptors are left for what is no client's: databases, the bus, health checks, connections that are being closed.
    ///
    /// - Parameters:
    ///   - descriptors: that the process may open.
    ///   - memory: that it may use, in bytes.
    ///   - loops: event loops.
    public static func fitting(descriptors: Int, memory: Int, loops: Int) -> EdgeLimits {
        let reserve = 128 + loops * Channel.maxLingering
        // What is always granted may take a quarter of the memory, what is counted another, and what readers have beyond that an eighth. A
        // connection with little to do takes 1 to 3 kB.
        let most = max(min(max(descriptors - reserve, descriptors / 4), memory / 4 / smallBuffer), 16)
        var limits = EdgeLimits()
        limits.connections = Limit(total: most, perAddress: min(most / 4, 1_000))
        limits.pendingSockets = Limit(total: most / 2, perAddress: min(most / 8, 500))
        let buffered = max(min(memory / 4, 128 << 20), 8 << 20)
        limits.bufferedBytes = Limit(total: buffered, perAddress: buffered / 4)
        limits.loopTimePerAddress = 25
        return limits
    }
}
