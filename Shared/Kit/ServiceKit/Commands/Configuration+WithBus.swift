import ParlorMessageBus
import ParlorReactor
import ParlorWorkers

extension Configuration {
    /// How long a command waits for the bus: a person is at the other end. A service would wait for as long as it
    /// takes.
    private static let busPatience: Duration = .seconds(5)

    private struct NoBus: Error, CustomStringConvertible {
        var description: String { "there is no bus: nothing answered within 5 s" }
    }

    /// Connects a command for operators to the bus, for as long as the body runs.
    ///
    /// - Parameter subscribe: called first. When the body begins, the bus knows the subscriptions.
    /// - Throws: `NoBus` if that takes more than `busPatience`.
    func withBus(
        name: String, _ subscribe: @escaping @Sendable (any MessageBus) throws -> Void,
        then body: (any MessageBus) async throws -> Void
    ) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let loop = group.loops[0]
        let connected = try await result(within: Self.busPatience) {
            let bus = try await connectBus(name: name, on: loop) { warning in
                Program.write("waiting for the bus: \(warning)", to: 2)
            }
            try subscribe(bus)
            try await bus.settle()
            return bus
        }
        guard let bus = connected else { throw NoBus() }
        try await body(bus)
        await bus.close()
    }
}
