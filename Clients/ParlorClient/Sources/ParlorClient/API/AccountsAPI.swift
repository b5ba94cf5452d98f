import Foundation

/// The calls that start, renew and end a session. Starting and renewing one needs no access token.
///
/// ``SessionTokens`` manages the sessions that these calls return. Every call throws `ClientFailure` or
/// `CancellationError`.
package struct AccountsAPI: Sendable {
    let caller: ServerCaller

    /// - Parameter makeRequestID: returns an id for each request. The server's log has it too.
    package init(
        transport: any HTTPTransport,
        makeRequestID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() }
    ) {
        caller = ServerCaller(transport: transport, makeRequestID: makeRequestID)
    }

    /// Creates an account, and starts a session.
    ///
    /// - Throws: `ClientFailure`, such as `refused` with `username_taken` or `email_taken`.
    package func register(
        username: String, password: String, firstName: String? = nil, email: String? = nil
    ) async throws -> Session {
        try await session(
            "register",
            .members([
                "username": .string(username), "password": .string(password),
                "firstName": firstName.map(JSON.string), "email": email.map(JSON.string),
            ]))
    }

    /// Starts a session.
    ///
    /// - Parameter username: the username or the e-mail address.
    /// - Throws: `ClientFailure`, such as `refused` with `invalid_credentials`.
    package func logIn(username: String, password: String) async throws -> Session {
        try await session("login", ["username": .string(username), "password": .string(password)])
    }

    /// Renews a session. A refresh token works once. A second use ends the session, unless it repeats the first use
    /// with the same `attemptID` before the new refresh token is used: that gets the same answer.
    ///
    /// - Parameter attemptID: 1 to 64 characters. Store it before this call. Older servers ignore it.
    package func refresh(_ refreshToken: String, attemptID: String? = nil) async throws -> Session {
        try await session(
            "refresh",
            .members(["refreshToken": .string(refreshToken), "attemptId": attemptID.map(JSON.string)]))
    }

    /// Unregisters a device from push notifications.
    @concurrent
    func removeDevice(_ token: String, in session: Session) async throws {
        try await ClientFailure.translating {
            let request = try HTTPRequest("DELETE", to: ["devices", token])
            try caller.check(try await caller.answer(to: request, token: session.token))
        }
    }

    /// Ends a session on the server.
    @concurrent
    func logOut(_ session: Session) async throws {
        try await ClientFailure.translating {
            let request = try HTTPRequest(
                "POST", to: ["auth", "logout"], body: ["refreshToken": .string(session.refreshToken)])
            try caller.check(try await caller.answer(to: request, token: session.token))
        }
    }

    @concurrent
    private func session(_ route: String, _ body: JSON) async throws -> Session {
        let request = try HTTPRequest("POST", to: ["auth", route], body: body)
        let answer = try await ClientFailure.translating { try await caller.answer(to: request) }
        return try caller.read(Session.self, answer).data
    }
}

extension JSON: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral members: (String, JSON)...) {
        self = .object(Dictionary(members, uniquingKeysWith: { $1 }))
    }
}
