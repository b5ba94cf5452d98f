import Edge
import Reactor

/// Serves the echo on one loop: the order in which requests of one client arrive on several connections is then the order
/// in which they are served, as conformance suites take for granted.
do {
    let options = try EchoOptions(CommandLine.arguments.dropFirst())
    let signals = try TerminationSignals()
    let group = try EventLoopGroup(loopCount: 1)
    let server = try await EdgeServer.start(
        host: "127.0.0.1", port: options.port, on: group, configuration: options.configuration
    ) { _ in Echo() }
    EchoOptions.printLine("protocol-echo ready http://127.0.0.1:\(server.port)")
    await signals.wait()
    await server.drain(within: .seconds(2))
    group.shutdown()
} catch {
    EchoOptions.fail("protocol-echo: \(error)")
}
