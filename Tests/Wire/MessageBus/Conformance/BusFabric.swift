import ParlorBus
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import Testing

/// The buses of the conformance suite.
enum BusKind: CaseIterable, Sendable {
    case inProcess
    case tcp
    case nats

    /// The buses on which a key selects the same instance again.
    static let keepingKeys: [BusKind] = [.inProcess, .tcp]
}

/// A bus and the clients of one test on it.
final class BusFabric: Sendable {
    private let makeClient: @Sendable (String) async throws -> any MessageBus

    private init(_ makeClient: @escaping @Sendable (String) async throws -> any MessageBus) {
        self.makeClient = makeClient
    }

    /// Returns a connection of its own; in one process all share the bus.
    func client(_ name: String = "test") async throws -> any MessageBus { try await makeClient(name) }

    static func with(_ kind: BusKind, _ body: (BusFabric) async throws -> Void) async throws {
        switch kind {
        case .inProcess:
            let bus = InProcessBus()
            try await body(BusFabric { _ in bus })
            await bus.close()
        case .tcp:
            let server = try await BusServer.start(host: "127.0.0.1", port: 0)
            let group = try EventLoopGroup(loopCount: 2)
            try await body(
                BusFabric { name in
                    try await TCPBus.connect(
                        host: "127.0.0.1", port: server.port, name: name, token: nil, on: group.next())
                })
            await server.drain(timeout: .zero)
            await finish(group)
        case .nats:
            let url = try await NATSServer.shared.value.url("/\(NATSServer.newPrefix())")
            let group = try EventLoopGroup(loopCount: 2)
            try await body(
                BusFabric { name in
                    try await #require(BusURL(url)).connect(name: name, token: nil, on: group.next())
                })
            await finish(group)
        }
    }
}

extension BusContext {
    static func test(timeout: Duration = .seconds(20), key: String? = nil) -> BusContext {
        BusContext(requestID: "r-test", timeout: timeout, key: key)
    }
}
