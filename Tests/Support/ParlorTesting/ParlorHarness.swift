import ParlorContracts
import ParlorGateway
import ParlorMessageBus
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import ParlorServices
import ParlorTestSupport
import Synchronization
import Testing

/// All of Parlor in this process, as the executable `parlor` assembles it, on a port of its own and without rate limits.
public struct ParlorHarness: Sendable {
    public let port: UInt16
    /// The manifests that the services announced.
    public let manifests: [Manifest]
    /// The key that signs tokens.
    public let key: JSONWebKey

    /// Runs the test while the services are on the bus. They stop also if the test throws.
    ///
    /// - Parameter databaseURL: by default SQLite in a temporary folder.
    public static func run(
        databaseURL: String? = nil, _ test: (ParlorHarness) async throws -> Void
    ) async throws {
        let folder = TemporaryFolder()
        let factories = ParlorServices.all.map { ComponentFactory.service($0) } + [Gateway.factory]
        var settings = Program.settings
        for setting in factories.flatMap(\.settings) where !settings.contains(where: { $0.name == setting.name }) {
            settings.append(setting)
        }
        // Passwords are hashed slowly in a build without optimisation on a busy machine.
        var arguments = [
            "--port", "0", "--data", folder.path, "--rate-limits", "off", "--log-level", "error", "--request-timeout",
            "60s",
        ]
        if let databaseURL { arguments += ["--database-url", databaseURL] }
        let group = try EventLoopGroup(loopCount: 2)
        let bus = InProcessBus()
        let announced = Mutex<[String: Manifest]>([:])
        try bus.subscribe(Subject.announcements) { message in
            guard let manifest = message.data["manifest"].flatMap(Manifest.init) else { return }
            announced.withLock { $0[manifest.service] = manifest }
        }
        let node = Node(
            configuration: try Configuration(settings, arguments: arguments), bus: bus, isBusShared: false,
            group: group, log: .silent, services: Set(factories.compactMap(\.service)))
        var running: [any Component] = []
        try await withCleanup {
            for factory in factories { running.append(try #require(try await factory.start(node, running))) }
            let harness = ParlorHarness(
                port: try #require(running.last?.address.flatMap { UInt16($0.split(separator: ":").last ?? "") }),
                manifests: announced.withLock { $0.values.sorted { $0.service < $1.service } },
                key: .hs256(secret: try SecretFile.loadOrCreate(folder.file("jwt.secret"))))
            try await test(harness)
        } _: {
            for component in running.reversed() { await component.stop(within: .seconds(1)) }
            await finish(group)
        }
    }
}
