/// Provides the access token before each connect of the socket and each request. `SessionTokens` does so for a session of
/// this server.
package protocol TokenProvider: Sendable {
    /// Returns a token that is believed to be valid.
    ///
    /// - Throws: `ClientFailure.signedOut`; `ClientFailure.offline` if a new one could not be fetched.
    func token() async throws -> String

    /// Returns another token after the server refused one. Concurrent calls share one refresh. If the token
    /// was already replaced, the call returns the newer one without a refresh.
    ///
    /// - Throws: as `token()`.
    func token(replacing refused: String) async throws -> String

    /// Returns false if it is known, without a request, that nobody is signed in.
    func isSignedIn() async -> Bool

    /// Returns when the refresh in progress, if any, has ended and its session is stored.
    func settle() async

    /// Signs the person out. There are no more tokens, and the session ends on the server as soon as it can be reached.
    ///
    /// After an error, a repeated ``RoomsClient/signOut()`` calls this again. The repeated call must not end the session
    /// of a person who has signed in since.
    ///
    /// - Parameter token: the device to unregister from push notifications; nil if unknown.
    /// - Throws: an error if the sign-out could not be stored. It still takes effect.
    func signOut(device token: String?) async throws

    /// Returns the tokens for the client of one person. While somebody else is signed in, they throw `signedOut`, and
    /// their `signOut(device:)` ends no session.
    ///
    /// A client calls it once. By default the provider returns itself, which is right if only one person ever signs in.
    func tokens(of personID: String) -> any TokenProvider
}

// For a provider whose tokens belong to no session, such as a test's.
extension TokenProvider {
    package func isSignedIn() async -> Bool { true }
    package func settle() async {}
    package func signOut(device token: String?) async {}
    package func tokens(of personID: String) -> any TokenProvider { self }
}
