import ParlorContracts
import ParlorStorage

extension Command {
    private static let repair = Setting(
        "VERIFY_REPAIR", flag: "--repair", .toggle, default: "off", "Repair the differences")

    /// Recounts all numbers that services store. The outcome is `found` if a number still differs at the end.
    ///
    /// - Parameter services: all services of the program. One of them must own memberships.
    public static func verify(_ services: [any Service.Type]) -> Command {
        Command(
            name: "verify",
            summary: """
                Recounts every badge and count from the rows, also while Parlor runs, and prints each difference.
                Exit status: 0 if nothing differs or everything was repaired, 1 if something differs, 2 if it failed.
                """,
            settings: [Setting.data, Setting.databaseURL, repair]
        ) { configuration, print in
            let repairing = configuration[repair]
            guard let owner = services.lazy.compactMap({ $0 as? any OwnsMembership.Type }).first else {
                preconditionFailure("no service owns memberships")
            }
            func open(_ service: any Service.Type) throws -> any MaintenanceDatabase {
                try DatabaseLocation(of: service.name, configuration).openForMaintenance(service.migrations)
            }
            let memberships = try open(owner)
            let recounts = try services.compactMap { $0 as? any Verifiable.Type }.map { service in
                Recount(
                    service: service, database: try open(service),
                    people: { room in
                        try memberships.read { try owner.people(of: room, for: service.name, on: $0) }
                    },
                    clock: SystemClock(),
                    print: print)
            }
            var total = Recount.Outcome()
            for recount in recounts {
                let outcome = try recount.run(repairing: repairing)
                print("\(recount.service.name): \(outcome.rooms) rooms counted, \(outcome.differences) differences")
                total.differences += outcome.differences
                total.left += outcome.left
            }
            print(
                total.differences == 0
                    ? "all counts are right"
                    : "\(total.differences) differences, \(total.differences - total.left) repaired")
            return total.left == 0 ? .done : .found
        }
    }
}
