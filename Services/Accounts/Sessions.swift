import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let refresh = RequestDescription(
        "Exchanges a refresh token for new tokens of the same session.",
        takes: Accounts.refreshing, gives: Grant.schema, errors: [.invalidToken, .invalidField])
    static let logout = RequestDescription(
        "Ends the session of a refresh token.", takes: Accounts.ending,
        errors: [.unauthenticated, .invalidField])
    static let sessions = RequestDescription(
        "Lists the caller's sessions, the oldest first.", gives: .array(of: Session.schema))
    static let endSession = RequestDescription("Ends one of the caller's sessions.", takes: Accounts.endedSession)
    static let endOtherSessions = RequestDescription("Ends all of the caller's sessions but this one.")
}

/// Refreshing, listing and ending of sessions.
extension Accounts {
    fileprivate static let refreshing = Fields(
        .optional(
            .key("attemptId", note: "A request with the same id gets the same refresh token until that is used.")),
        .string("refreshToken"))
    fileprivate static let ending = Fields(.string("refreshToken"))
    fileprivate static let endedSession = Fields(.string("id", .id))

    /// Exchanges a refresh token for a grant with the next one.
    ///
    /// A token works once. If one is presented again, it was copied, and nobody can say by whom: its session ends
    /// with all its tokens. But a client that sends an `attemptId` may have lost the answer: until the next token is used,
    /// the same attempt gets it again.
    func refresh(_ fields: RequestFields) async throws -> Reply {
        let client = SigningClient(fields)
        let (attemptID, text) = try Self.refreshing.read(fields)
        guard let presented = RefreshToken(text) else { throw Self.invalidToken }
        let attempt = attemptID.map { RefreshAttempt(id: $0, randomness: randomness, at: clock.now()) }
        let token =
            attempt?.successor(of: presented) ?? RefreshToken(sessionID: presented.sessionID, randomness: randomness)
        let next = session(token, client)
        let exchange = try await database.write { try SessionsStore($0).exchange(presented, for: next, attempt) }
        switch exchange {
        case .done(let token, let time, let account, let id):
            return Reply(.ok, grant(account, session(token, client, at: time), id: id).json)
        case .refused: throw Self.invalidToken
        }
    }

    private static let invalidToken = ServiceError(.invalidToken, "This session has ended. Sign in again.")

    /// Ends the session of a refresh token. It may be an older one: its client may have lost the answer with the newest.
    /// Any other token is no error and ends nothing.
    func logout(_ fields: RequestFields) async throws -> Reply {
        let current = SigningClient(fields).sessionID
        // Neither token: the request comes from nobody.
        if current == nil, fields["refreshToken"] == nil { throw ServiceError(.unauthenticated, "Log in first.") }
        if let token = RefreshToken(try Self.ending.read(fields)) {
            let now = clock.now()
            try await database.write { try SessionsStore($0).endSession(of: token, at: now) }
        }
        return Reply(.noContent)
    }

    /// Lists the caller's sessions, the oldest first: `[{id, createdAt, lastUsedAt, userAgent, address,
    /// current}]`.
    func showSessions(_ fields: RequestFields, _ caller: Caller) async throws -> Reply {
        let (current, now) = (SigningClient(fields).sessionID, clock.now())
        let sessions = try await database.read { try SessionsStore($0).sessions(of: caller.id, at: now) }
        return Reply(
            .ok,
            JSONWriter.value { json in
                json.array { for session in sessions { session.write(to: &$0, isCurrent: session.id == current) } }
            })
    }

    /// Ends one of the caller's sessions. One that is not theirs, or does not exist, is no
    /// error.
    func endSession(_ fields: RequestFields, _ caller: Caller) async throws -> Reply {
        let id = try Self.endedSession.read(fields)
        guard id.mayBeID else { return Reply(.noContent) }
        let now = clock.now()
        try await database.write { try SessionsStore($0).end(id, of: caller.id, at: now) }
        return Reply(.noContent)
    }

    private static let maxLookedUp = 500

    /// Looks up sessions for other services: `{ids}` → the ids of those that have not ended, in no order.
    func lookUpSessions(_ fields: RequestFields) async throws -> Reply {
        let ids = try fields.strings("ids", count: 0...Self.maxLookedUp).filter(\.mayBeID)
        let now = clock.now()
        let live = try await database.read { try SessionsStore($0).live(of: ids, at: now) }
        return Reply(.ok, JSONWriter.value { $0.array(of: live) { $0.string($1) } })
    }

    /// Ends all sessions of the caller except the one that the request comes from. Access tokens of early versions name
    /// no session. With such a token, all sessions end.
    func endOtherSessions(_ fields: RequestFields, _ caller: Caller) async throws -> Reply {
        let (current, now) = (SigningClient(fields).sessionID, clock.now())
        try await database.write { try SessionsStore($0).endOthers(than: current, of: caller.id, at: now) }
        return Reply(.noContent)
    }
}

/// A session as its person sees it.
struct Session: Sendable {
    let id: String
    let createdAt: Timestamp
    let lastUsedAt: Timestamp
    let userAgent: String
    let address: String

    static let schema = Schema.named(
        "Session",
        .object([
            "id": .id, "createdAt": .time, "lastUsedAt": .time, "userAgent": .string, "address": .string,
            "current": Schema.boolean.noted("The session of this request."),
        ]))

    func write(to json: inout JSONWriter, isCurrent: Bool) {
        json.object {
            $0.member("id", id)
            $0.member("createdAt", createdAt.iso)
            $0.member("lastUsedAt", lastUsedAt.iso)
            $0.member("userAgent", userAgent)
            $0.member("address", address)
            $0.member("current", isCurrent)
        }
    }
}
