extension RoomsClient {
    /// Signs out: deletes all data of the person from this device, also messages that are not sent yet, and ends the
    /// session.
    ///
    /// It does not wait for the server. The tokens ask the server to end the session as soon as the server can be
    /// reached, also after a restart of the app. ``SessionTokens/settleEnding()`` waits for that. The end of the session also ends the notifications to this device. Unsent read receipts are
    /// discarded.
    ///
    /// It is final: this client never connects or stores anything again, and rooms that are opened later stay empty.
    ///
    /// - Throws: the error of the file system, or of the tokens' store, after everything else is done. A repeated call
    ///   completes what is left: it deletes the data, and stores the end of this client's session. It does not sign out
    ///   anybody who has signed in since. The start of the next client with this folder deletes the data, too.
    package func signOut() async throws {
        isSignedOut = true
        _ = nextGeneration()
        access.close()
        // Before the tokens are removed, a mark on disk notes that the data has to be deleted. If the app ends in
        // between, the next start deletes the data, but the person is still signed in, and has to sign out again. If the
        // app ends later, nobody is signed in, so no client starts: `forgetSignedOut(in:)` then deletes the data.
        noteToBeForgotten()
        let signedOut = await attempt { try await tokens.signOut(device: device.token) }
        await order { await $0.stop() }
        await backing.receipts.removeAll()
        let unwritten = await attempt { try drafts.removeAll() }
        let unsent = await attempt { try await outbox.stopAndRemoveAll() }
        // Leaving a room writes to the cache, so the cache is removed later.
        for conversation in open.values { await leave(conversation) }
        for board in boards.values { await board.end(because: .signedOut) }
        boards = [:]
        watchingPaths?.cancel()
        let removals = [
            unwritten, unsent, await attempt { try await boardFiles.removeAll() },
            await attempt { try await backing.cache.removeAll() },
            await attempt { try await roomCache.removeAll() },
        ]
        for removal in removals { try removal.get() }
        try removeMark()
        try signedOut.get()
    }

    private func attempt(_ body: () async throws -> Void) async -> Result<Void, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}
