import Contracts
import JSON
import ServiceKit
import Storage

extension Rooms {
    /// For other services: `{roomIds}` → `{names: [name|null, …]}`, in their order.
    static func listNames(_ request: Request, on connection: any Connection) throws -> Reply {
        let ids = try request.fields.strings("roomIds", count: 0...PageLimits.maxNames)
        let names = try RoomsDatabase.names(of: ids, on: connection)
        return Reply(
            .ok,
            JSONWriter.object(reservingCapacity: 32 * ids.count + 16) {
                $0.name("names")
                $0.array(of: ids) { json, id in
                    if let name = names[id] { json.string(name) } else { json.null() }
                }
            })
    }
}
