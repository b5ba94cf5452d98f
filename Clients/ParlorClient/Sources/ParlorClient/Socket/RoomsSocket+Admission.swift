extension RoomsSocket {
    /// An invalid cursor. The server answers it with a valid one, which a client without a cursor needs.
    private static let noCursor = "none"

    /// Joins the namespace with a token. If the server refuses the token, a new one is tried on the same connection,
    /// once.
    ///
    /// - Throws: `ClientFailure.signedOut` if the new token is refused too. Other refusals count as retryable.
    func join(_ link: SocketLink, _ token: String) async throws {
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
                token = try await within(Self.connectTimeout, by: clock, else: "no token") { [tokens, token] in
                    try await tokens.token(replacing: token)
                }
            }
        }
    }
}
