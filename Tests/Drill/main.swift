import Glibc
import ParlorReactor
import TestClients

/// Runs the drill, and fails if an event was lost, doubled or out of order, or a counter is wrong.
do {
    let options = try DrillOptions(CommandLine.arguments.dropFirst())
    // One loop: the clients have one core, and the kernel may give it to the programs when they need it.
    let group = try EventLoopGroup(loopCount: 1)
    let held = try await Drill(options, on: group).run()
    group.shutdown()
    exit(held ? 0 : 1)
} catch let error as DrillOptions.Malformed {
    Terminal.complain("parlor-drill: \(error)\n\n\(DrillOptions.usage)")
    exit(2)
} catch {
    Terminal.complain("parlor-drill: \(error)")
    exit(1)
}
