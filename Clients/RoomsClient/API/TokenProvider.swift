/// Who gives access tokens out: asked before every connect of the socket and every request.
///
/// `SessionTokens` keeps a session of its own; an app that signs in elsewhere has its own provider.
public protocol TokenProvider: Sendable {
    /// A token that is believed to be valid.
    ///
    /// - Throws: `ClientFailure.signedOut`; `ClientFailure.offline` if a new one could not be fetched.
    func token() async throws -> String

    /// Another token, after the server has refused one. Calls at the same time share one refresh, and a call with a token that has
    /// been replaced meanwhile gets the newer one without any.
    ///
    /// - Throws: as `token()`.
    func token(replacing refused: String) async throws -> String
}
