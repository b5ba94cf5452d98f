import Foundation

// Sign-out: at once on this device, and on the server as soon as it can be reached.
extension SessionTokens {
    /// Signs out. When this returns, there are no more tokens, and the store holds the session as one to end.
    /// The client then retries until the server has ended it, with a ``SessionStore`` also after a restart.
    ///
    /// The end of a session also unregisters its device. ``settleEnding()`` waits for the server.
    ///
    /// - Parameter token: the device's token, for servers that do not tie devices to sessions.
    /// - Throws: the store's error. The sign-out holds, and each request and each call of this tries the
    ///   store again. But if the app ends before the store accepts it, the next launch is signed in.
    public func signOut(device token: String? = nil) async throws {
        if kept.current != nil {
            // The attempt id makes it possible to repeat the refresh under way.
            forgetRefresh()
            change { kept in
                guard let session = kept.current else { return }
                kept.ending.append(EndingSession(session: session, deviceToken: token))
                kept.current = nil
            }
            endSessions()
        } else {
            saveAgain()
        }
        if let storeFailure { throw storeFailure }
    }

    /// Returns when the server has ended every signed-out session, or when the task is cancelled.
    public func settleEnding() async {
        endSessions()
        guard let ending else { return }
        _ = try? await Task<Void, any Error> { await ending.value }.valueUnlessCancelled
    }

    /// Notes that the server can be reached: it skips the pause before the next try.
    public func noteConnection() { endingPause?.cancel() }

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
                    // A reachable server cancels the pause; the loop continues.
                    _ = await task.result
                    endingPause = nil
                }
            }
            ending = nil
        }
    }

    /// - Throws: errors that may pass. It ignores permanent ones: a later try would fail too.
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

    /// Unregisters the device, for servers that do not do so at the session's end. A refusal does not keep
    /// the session alive: push may be away, or not exist.
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
            // This includes suspended people: other sessions wait behind this one.
            return nil
        }
    }

    private func replaceEnding(by session: Session) {
        change { if !$0.ending.isEmpty { $0.ending[0].session = session } }
    }
}
