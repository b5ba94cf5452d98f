extension RoomsClient {
    /// Signs out: deletes all data of the person from this device, also messages that are not sent yet, and ends the
    /// session.
    ///
    /// It does not wait for the server. The tokens ask the server to end the session as soon as the server can be
    /// reached, also after a restart of the app. ``SessionTokens/settleEnding()`` waits for that. The end of the session
    /// also ends the notifications to this device. Unsent read receipts are discarded.
    ///
    /// It is final: this client never connects or stores anything again, and rooms that are opened later stay empty.
    ///
    /// - Throws: the error of the file system, or of the tokens' store, after everything else is done. A repeated call
    ///   completes what is left: it deletes the data, and stores the end of this client's session. It does not sign out
    ///   anybody who has signed in since. The start of the next client with this folder deletes the data, too.
    package func signOut() async throws {
        isSignedOut = true
        _ = orders.begin()
        access.end()
        // Before the tokens are removed, a mark on disk notes that the data has to be deleted. If the app ends in
        // between, the next start deletes the data, but the person is still signed in, and has to sign out again. If the
        // app ends later, nobody is signed in, so no client starts: `PersonFolder.forgetSignedOut(in:)` then deletes
        // the data.
        local.noteSignOut()
        let signedOut = await Result { try await tokens.signOut(device: device.token) }
        await orders.run { await $0.stop() }
        orders.endWatching()
        try await local.removeAll()
        try signedOut.get()
    }
}
