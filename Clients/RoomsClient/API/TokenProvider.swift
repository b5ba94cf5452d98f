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

    /// Returns when nothing is under way that has to be kept.
    func settle() async

    /// The person signs out: no token is given out any more, and the session is ended at the server, now or when it can be reached.
    ///
    /// - Parameter token: of this device, which is to get no more pushes; nil if none is known.
    /// - Throws: if it could not be stored that the person has signed out; the rest is done.
    func signOut(device token: String?) async throws
}

// An app that signs in elsewhere also ends its sessions there.
extension TokenProvider {
    public func settle() async {}
    public func signOut(device token: String?) async {}
}
