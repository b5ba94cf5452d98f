import Contracts
import JSON
import MessageBus
import ServiceKit

extension Accounts {
    /// The answer has to fit a line of the bus: 1 MiB, at up to 250 bytes for a person without the longest names.
    private static let maxLookedUp = 2000

    /// For other services: `{ids, viewer?}` → `{people: [Person]}`, those of the ids that exist, in no order.
    ///
    /// Addresses are shown as the setting says, to the viewer; without one, only if everyone sees them.
    func lookUpPeople(_ fields: RequestFields, _ context: BusContext) async throws -> Reply {
        let ids = try fields.strings("ids", count: 0...Self.maxLookedUp)
        let viewer = try fields.optionalString("viewer")
        let accounts = try await database.accounts(ids)
        let friends: Set<String> =
            if emailVisibility == .shared, let viewer { try await partners.partners(of: viewer, context) } else { [] }
        let people = JSONWriter.object { json in
            json.member(
                "people",
                array: { json in
                    for account in accounts {
                        let showsEmail =
                            emailVisibility == .everyone || account.id == viewer || friends.contains(account.id)
                        json.value((showsEmail ? account.person : account.personWithoutEmail).json)
                    }
                })
        }
        return Reply(.ok, people)
    }
}
