import Contracts
import JSON
import ServiceKit

extension Accounts {
    /// Where the caller is signed in, in the order it happened: `[{id, createdAt, lastUsedAt, userAgent, address, current}]`.
    func showSessions(_ fields: RequestFields, _ caller: Caller) async throws -> Reply {
        let current = SigningClient(fields).sessionID
        let sessions = try await database.sessions(of: caller.id, at: clock.now())
        return Reply(
            .ok,
            JSONWriter.value { json in
                json.array { for session in sessions { session.write(to: &$0, isCurrent: session.id == current) } }
            })
    }
}
