import Contracts
import ServiceKit

extension Accounts {
    /// `{id}` → nothing. Ends one of the caller's sessions; one that is not theirs, or not there, is no error.
    func endSession(_ fields: RequestFields, _ caller: Caller) async throws -> Reply {
        let id = try fields.string("id")
        if id.mayBeID { try await database.endSession(id, of: caller.id, at: clock.now()) }
        return Reply(.noContent)
    }

    /// Ends all sessions of the caller but the one that asks; a token from before sessions had names is of none of them.
    func endOtherSessions(_ fields: RequestFields, _ caller: Caller) async throws -> Reply {
        let current = SigningClient(fields).sessionID
        try await database.endOtherSessions(than: current, of: caller.id, at: clock.now())
        return Reply(.noContent)
    }
}
