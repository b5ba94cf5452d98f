import ParlorEdge
import ParlorReactor

/// Serves the echo on one loop, so that requests of one client on several connections are served in
/// their order of arrival, as conformance suites expect.
do {
    let options = try EchoOptions(CommandLine.arguments.dropFirst())
    let signals = try TerminationSignals()
    let group = try EventLoopGroup(loopCount: 1)
    let server = try await EdgeServer.start(
        host: "127.0.0.1", port: options.port, on: group, configuration: options.configuration
    ) { _ in
        let echo = Echo()
        return (echo, echo)
    }
    EchoOptions.printLine("protocol-echo ready http://127.0.0.1:\(server.port)")
    await signals.wait()
    await server.drain(within: .seconds(2))
    group.shutdown()
} catch {
    EchoOptions.fail("protocol-echo: \(error)")
}
