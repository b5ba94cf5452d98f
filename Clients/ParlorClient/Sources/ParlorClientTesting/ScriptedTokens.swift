import ParlorClient

/// The tokens of a person who is always signed in. A refused token is replaced by one of a new session.
package struct ScriptedTokens: TokenProvider {
    private let current: Guarded<String?> = Guarded(nil)
    private let person: Person
    private let server: ScriptedServer

    package init(of person: Person, on server: ScriptedServer) {
        self.person = person
        self.server = server
    }

    package func token() async throws -> String {
        if let token = current.withLock({ $0 }) { return token }
        return try renew()
    }

    package func token(replacing refused: String) async throws -> String {
        if let token = current.withLock({ $0 }), token != refused { return token }
        return try renew()
    }

    private func renew() throws -> String {
        let token = try server.makeSession(of: person).token
        current.withLock { $0 = token }
        return token
    }
}
