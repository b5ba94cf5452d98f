import Contracts
import JSON
import ServiceKit

extension Accounts {
    /// The answer has to fit a line of the bus: 1 MiB, at up to 250 bytes for a person without the longest names.
    private static let maxLookedUp = 2000

    /// For other services: `{ids, viewerSharesRooms}` → `[Person]`, those of the ids that exist, in no order.
    ///
    /// Addresses are shown as the setting says; whoever asks knows whether the one it asks for shares a room with them all.
    func lookUpPeople(_ fields: RequestFields) async throws -> Reply {
        let ids = try fields.strings("ids", count: 0...Self.maxLookedUp).filter(\.mayBeID)
        let viewerSharesRooms = try fields.optionalBool("viewerSharesRooms") ?? false
        let showsEmail = emailVisibility == .everyone || (emailVisibility == .shared && viewerSharesRooms)
        let accounts = try await database.accounts(ids)
        let people = JSONWriter.value { json in
            json.array(of: accounts) { json, account in
                json.value((showsEmail ? account.person : account.personWithoutEmail).json)
            }
        }
        return Reply(.ok, people)
    }
}
