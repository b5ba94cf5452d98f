import Foundation
import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorServices
import ParlorTestSupport
import Synchronization
import Testing

/// The manifests of the last release, without the digests of the services' descriptions. Gateways of that release and of this
/// one meet services of both. A release replaces the files by its own manifests, which a gateway stores in `manifests.json`.
@Suite("The manifests on the bus", .timeLimit(.minutes(3)))
struct ManifestTests {
    @Test("of the last release are read whole, and all that they declare is declared still")
    func lastRelease() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Manifests")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count >= 5)
        for file in files {
            let last = try JSONValue(parsing: String(contentsOf: file, encoding: .utf8))
            let name = file.deletingPathExtension().lastPathComponent
            #expect(Manifest(last).map { Self.missing(from: $0.json, of: last) } == .some([]), "\(name)")
            let service = try #require(ParlorServices.all.first { $0.name == name }, "\(file.path)")
            let present = try await announced(service)
            #expect(Self.missing(from: present, of: last) == [], "\(name)")
            // `deploy/settings-doc` reads their defaults from the file.
            #expect(present["limits"] == last["limits"], "\(name)")
        }
    }

    /// Returns the parts of a value that another value, which may have more, lacks. Items of a list may be in any order.
    private static func missing(from value: JSONValue, of last: JSONValue) -> [String] {
        if let members = last.object?.all {
            return members.flatMap { name, part in value[name].map { missing(from: $0, of: part) } ?? [name] }
        }
        if let items = last.array {
            let found = value.array ?? []
            return items.filter { item in !found.contains { missing(from: $0, of: item).isEmpty } }.map(\.text)
        }
        return value == last || last.isNull ? [] : [last.text]
    }

    @Test("have the name of their module, in lower case")
    func names() {
        for service in ParlorServices.all { #expect("\(service)".lowercased() == service.name + "service") }
    }

    /// Returns the manifest in the first announcement of a service that starts.
    private func announced<S: Service>(_ service: S.Type) async throws -> JSONValue {
        let folder = TemporaryFolder()
        let bus = InProcessBus()
        let received = Mutex<JSONValue?>(nil)
        try bus.subscribe(Subject.announce(of: service.name)) { message in
            received.withLock { $0 = message.data["manifest"] }
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
