import Contracts
import Foundation
import JSON
import MessageBus
import ParlorServices
import Reactor
import ServiceKit
import Synchronization
import TestSupport
import Testing

/// The manifests as gateways of other versions know them, byte by byte. A file in `Manifests`
/// changes only with the contract between services and gateways. It has `$digest` in place of the digest of
/// the service's description, which changes with each of its texts. A service without a file may change its
/// manifest.
@Suite("The manifests on the bus", .timeLimit(.minutes(3)))
struct ManifestTests {
    @Test("are what gateways of other versions expect")
    func unchanged() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Manifests")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count >= 5)
        for file in files {
            let name = file.deletingPathExtension().lastPathComponent
            let service = try #require(ParlorServices.all.first { $0.name == name }, "\(file.path)")
            let expected = try String(contentsOf: file, encoding: .utf8)
            let digest = #/"description":"[A-Za-z0-9_-]{16}"/#
            let manifest = try await announced(service).replacing(digest, with: #""description":"$digest""#)
            #expect(manifest + "\n" == expected, "\(name)")
        }
    }

    /// Returns the manifest in the first announcement of a service that starts.
    private func announced<S: Service>(_ service: S.Type) async throws -> String {
        let folder = TemporaryFolder()
        let bus = InProcessBus()
        let received = Mutex<String?>(nil)
        try bus.subscribe(Subject.announce(of: service.name)) { message in
            received.withLock { $0 = message.data["manifest"]?.text }
        }
        let group = try EventLoopGroup(loopCount: 1)
        let factory = ComponentFactory.service(service)
        let node = Node(
            configuration: try Configuration(factory.settings, arguments: ["--data", folder.path]), bus: bus,
            isBusShared: false, group: group, log: .silent)
        let component = try #require(try await factory.start(node, []))
        await component.stop(within: .seconds(1))
        await finish(group)
        return try #require(received.withLock { $0 })
    }
}
