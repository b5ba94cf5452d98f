import Foundation

// Sign-out: at once on this device, and on the server as soon as it can be reached.
extension SessionTokens {
    /// Signs out on this device at once, and on the server as soon as it can be reached.
    ///
    /// When this returns, there are no more tokens, and the store has the session in ``KeptSessions/ending``. The
    /// request to end it is retried until the server ends the session or permanently refuses. With a ``SessionStore``,
    /// it is also retried after a restart. ``settleEnding()`` waits for the end. The end of a session also unregisters
    /// its device.
    ///
    /// - Parameter token: the device's token, for servers that do not unregister the device with the session.
    /// - Throws: the store's error. The sign-out still takes effect. Each later request, and each later `signOut`,
    ///   tries again to store it. But if the app ends before the store accepts it, the next launch is signed in.
    package func signOut(device token: String? = nil) async throws { try await signOut(nil, device: token) }

    /// Signs a person out, as ``signOut(device:)`` does. Ends no session if somebody else is signed in.
    ///
    /// - Parameter personID: nil for whoever is signed in.
    func signOut(_ personID: String?, device token: String?) async throws {
        guard let current = kept.current, personID == nil || current.user.id == personID else {
            return try await storeSignOut()
        }
        // The refresh in progress is abandoned. The session keeps its attempt id, so `end` can repeat the refresh.
        forgetRefresh()
        change { kept in
            guard let session = kept.current else { return }
            kept.ending.append(EndingSession(session: session, deviceToken: token))
            kept.current = nil
        }
        log.info(.session, "signed out")
        endSessions()
        if let storeFailure { throw storeFailure }
    }

    /// Tries again to store a sign-out that the store has refused. This ends no session, not even that of a person who
    /// has signed in since.
    ///
    /// - Throws: the store's error, if the sign-out still cannot be stored.
    func storeSignOut() async throws {
        saveAgain()
        if let storeFailure { throw storeFailure }
    }

    /// Returns when no signed-out session is left to end, or when the task is cancelled. A permanent refusal counts as
    /// the end.
    package func settleEnding() async {
        endSessions()
        guard let ending else { return }
        _ = try? await Task<Void, any Error> { await ending.value }.valueUnlessCancelled
    }

    /// Notes that the server can be reached, and ends the pause before the next try to end sessions.
    package func noteConnection() { endingPause?.cancel() }

    /// Starts to end the signed-out sessions on the server, one after the other, unless a task already does so.
    func endSessions() {
        guard ending == nil, !kept.ending.isEmpty else { return }
        ending = Task {
            var backoff = Backoff()
            while let next = kept.ending.first {
                saveAgain()
                do {
                    try await end(next.session)
                    change { $0.ending.removeFirst() }
                    backoff.reset()
                } catch {
                    let pause = backoff.next(random: random(), atLeast: ClientFailure(error).retryAfter)
                    let task = Task { [clock] in try await clock.sleep(for: pause) }
                    endingPause = task
                    // `noteConnection()` cancels the pause; the loop then continues.
                    _ = await task.result
                    endingPause = nil
                }
            }
            ending = nil
        }
    }

    /// Ends a session on the server.
    ///
    /// - Throws: temporary errors. Permanent refusals are ignored, because a later try would fail, too.
    private func end(_ session: Session) async throws {
        var session = session
        if session.expiresAt <= clock.now || session.refreshAttemptID != nil {
            guard let renewed = try await renewEnding(session) else { return }
            session = renewed
        }
        do {
            try await logOut(session)
        } catch ClientFailure.refused(let refusal) where !refusal.isRetryable {
            // A retry would not help.
        }
    }

    private func logOut(_ session: Session) async throws {
        try await removeDevice(of: session)
        do {
            try await accounts.logOut(session)
        } catch ClientFailure.refused(let refusal) where refusal.status == 401 {
            // The token or the session has expired.
            guard let renewed = try await renewEnding(session) else { return }
            try await removeDevice(of: renewed)
            try await accounts.logOut(renewed)
        }
    }

    /// Unregisters the device, for servers that do not do so at the session's end. A refusal is ignored, so that the
    /// session still ends: the push service may be unavailable, or not exist.
    private func removeDevice(of session: Session) async throws {
        // If the same person has signed in again, the device may belong to the new session. The server
        // removes devices by person.
        guard let token = kept.ending.first?.deviceToken, kept.current?.user.id != session.user.id else { return }
        let task = Task { [accounts] in try await accounts.removeDevice(token, in: session) }
        deviceRemoval = (session.user.id, task)
        let result = await task.result
        deviceRemoval = nil
        do { try result.get() } catch ClientFailure.refused {}
    }

    /// Renews a signed-out session, because ending it needs a valid token.
    ///
    /// - Returns: nil if the session has ended, or if the server permanently refuses to renew it.
    private func renewEnding(_ session: Session) async throws -> Session? {
        var session = session
        if session.refreshAttemptID == nil {
            session.refreshAttemptID = attemptID()
            replaceEnding(by: session)
        }
        do {
            let renewed = try await accounts.refresh(session.refreshToken, attemptID: session.refreshAttemptID)
            replaceEnding(by: renewed)
            return renewed
        } catch ClientFailure.refused(let refusal) where !refusal.isRetryable {
            // This also gives up the session of a suspended person, because other sessions wait behind it.
            return nil
        }
    }

    private func replaceEnding(by session: Session) {
        change { if !$0.ending.isEmpty { $0.ending[0].session = session } }
    }
}
