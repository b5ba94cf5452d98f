import ParlorDemo
import ParlorGateway
import ParlorOperations
import ParlorServiceKit

extension ParlorServices {
    /// Runs all of Parlor in one process, until a signal ends it.
    ///
    /// - Parameter others: services of another package, which start after Parlor's own. Each needs a name of its own.
    public static func run(with others: [any Service.Type] = []) async -> Never {
        let services = all + others
        let names = services.map { $0.name }
        precondition(Set(names).count == names.count, "two services have one name: \(names.joined(separator: ", "))")
        let demo = Demo.prepareOrExit()
        await Program(
            "parlor", "Parlor, all of it in one process.", bus: .inProcess,
            services.map { .service($0) } + [Gateway.factory, Demo.factory(demo), .operations],
            commands: [.verify(services), .backup(services), .status, .tail, .services, .forget]
        ).run()
    }
}
