import Foundation
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorTestSupport
import Testing

@testable import ParlorBus

@Suite("The bus as a component of a program", .timeLimit(.minutes(1)))
struct BusComponentTests {
    private let folder = TemporaryFolder()
    private let log = CapturedLog()

    private func run(
        _ settings: [String], _ body: (any Component, Node) async throws -> Void
    ) async throws {
        let factory = ComponentFactory.bus
        let group = try EventLoopGroup(loopCount: 1)
        let node = Node(
            configuration: try Configuration(factory.settings, arguments: ["--bus-port", "0"] + settings),
            bus: InProcessBus(), isBusShared: false, group: group, log: log.logger)
        try await withCleanup {
            let component = try #require(try await factory.start(node, []))
            try await body(component, node)
            await component.stop(within: .seconds(1))
        } _: {
            await finish(group)
        }
    }

    @Test("peers are logged as they join and leave, and counted")
    func peers() async throws {
        try await run([]) { component, node in
            let port = try #require(component.address?.split(separator: ":").last.flatMap { UInt16($0) })
            let loops = try EventLoopGroup(loopCount: 1)
            let bus = try await TCPBus.connect(
                host: "127.0.0.1", port: port, name: "polls", token: nil, on: loops.next())
            #expect(await component.isHealthy())
            #expect(log.text.contains("peer joined") && node.metrics.text().contains("bus_peers 1"))
            await bus.close()
            while !log.text.contains("peer left") { await Task.yield() }
            await finish(loops)
        }
    }

    @Test("a token and a table of peers exclude each other, and a table's mistake names its line")
    func access() async throws {
        let (token, peers) = (folder.file("token"), folder.file("peers"))
        for (path, text) in [(token, "a token of some length"), (peers, #"{"service":"polls","requests":[]}"#)] {
            let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
            #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: mode))
        }
        await #expect {
            try await run(["--bus-token-file", token, "--bus-peers-file", peers]) { _, _ in }
        } throws: {
            "\($0)".contains("not both")
        }
        await #expect {
            try await run(["--bus-peers-file", peers]) { _, _ in }
        } throws: {
            "\($0)".contains("line 1 has `requests`")
        }
    }
}
