import Foundation

/// Opens connections to the server's socket.
struct SocketOpening: Sendable {
    /// The time limit for getting a token, and for opening a connection.
    static let connectTimeout: Duration = .seconds(15)
    /// The time limit for the server's first packet on a new connection.
    static let handshakeTimeout: Duration = .seconds(12)
    /// An invalid cursor. The server answers it with a valid one, which a client without a cursor needs.
    private static let noCursor = "none"

    let url: URL
    let transport: any SocketTransport
    let tokens: any TokenProvider
    let clock: any ClientClock

    /// Opens a connection, and joins the namespace with a token. A connection that the server does not accept is closed.
    ///
    /// - Parameter cursor: the position from which the server replays; nil for none.
    /// - Throws: `ClientFailure`, other errors of the transport, or `CancellationError`.
    func open(since cursor: String?) async throws -> SocketLink {
        let token = try await self.token { [tokens] in try await tokens.token() }
        let connection = try await within(
            Self.connectTimeout, by: clock, else: "no connection", tooLate: { $0.close() },
            { [transport, url] in try await transport.connect(to: url) })
        let link = SocketLink(connection, clock: clock, handshakeTimeout: Self.handshakeTimeout)
        do {
            try await link.open()
            try await join(link, token, since: cursor)
            return link
        } catch {
            await link.close(.offline("the server has not accepted the connection"))
            throw error
        }
    }

    /// Joins the namespace. If the server refuses the token, a new one is tried on the same connection, once.
    ///
    /// - Throws: `ClientFailure.signedOut` if the new token is refused too. Other refusals count as retryable.
    private func join(_ link: SocketLink, _ token: String, since cursor: String?) async throws {
        var token = token
        var isLast = false
        while true {
            let auth: JSON = ["token": .string(token), "since": .string(cursor ?? Self.noCursor)]
            switch try await link.connect(auth: auth) {
            case .accepted: return
            case .refused(let message, let code):
                guard code == "unauthenticated" else {
                    throw ClientFailure.refused(
                        Refusal(code: code ?? "refused", message: message, isRetryable: true))
                }
                if isLast { throw ClientFailure.signedOut }
                isLast = true
                token = try await self.token { [tokens, token] in try await tokens.token(replacing: token) }
            }
        }
    }

    /// Returns true if the session has ended: the server gives no new token. Without an answer, it counts as going on.
    func isSignedOut() async -> Bool {
        do {
            _ = try await token { [tokens] in
                // The connection's token may have been replaced, which says nothing about the session.
                try await tokens.token(replacing: try await tokens.token())
            }
            return false
        } catch {
            return error as? ClientFailure == .signedOut
        }
    }

    private func token(_ work: @escaping @Sendable () async throws -> String) async throws -> String {
        try await within(Self.connectTimeout, by: clock, else: "no token", work)
    }
}
