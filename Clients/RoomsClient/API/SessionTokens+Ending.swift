import Foundation

// Signing out: here at once, and at the server as soon as it can be reached.
extension SessionTokens {
    /// Signs out. When this returns, no token is given out any more, and the store has the session as one to be ended. From then on
    /// the server is asked to end it, until it has; with a ``SessionStore`` of the app, also after a restart.
    ///
    /// The end of the session takes its device off push. ``settleEnding()`` waits for the server.
    ///
    /// - Parameter token: of the device, for servers that know devices of people and not of sessions.
    /// - Throws: the store's error. The rest holds, and the store is tried again with each request to the server, and by another call of
    ///   this. But if the app ends before the store has taken it, its next start is signed in.
    public func signOut(device token: String? = nil) async throws {
        if let session = kept.current {
            // Its answer can be asked for again by its name.
            forgetRefresh()
            _ = change { kept in
                kept.ending.append(EndingSession(session: session, deviceToken: token))
                kept.current = nil
            }
            endSessions()
        } else {
            saveAgain()
        }
        if let storeFailure { throw storeFailure }
    }

    /// Returns when the server has ended every session that was signed out of here, or when the task is cancelled.
    public func settleEnding() async {
        endSessions()
        guard let ending else { return }
        _ = try? await Task<Void, any Error> { await ending.value }.valueUnlessCancelled
    }

    /// The server can be reached again: sessions that wait for that are ended now.
    public func noteConnection() { endingPause?.cancel() }

    func endSessions() {
        guard ending == nil, !kept.ending.isEmpty else { return }
        ending = Task {
            var backoff = Backoff()
            while let next = kept.ending.first {
                saveAgain()
                do {
                    try await end(next.session)
                    _ = change { $0.ending.removeFirst() }
                    backoff.reset()
                } catch {
                    let pause = backoff.next(random: random(), atLeast: ClientFailure(error).retryAfter)
                    let task = Task { [clock] in try await clock.sleep(for: pause) }
                    endingPause = task
                    // Cancelled when the server can be reached again: then it goes on.
                    _ = await task.result
                    endingPause = nil
                }
            }
            ending = nil
        }
    }

    /// - Throws: errors that may pass. An error that stays is not thrown: nothing better could be done later.
    private func end(_ session: Session) async throws {
        var session = session
        if session.expiresAt <= clock.now || session.refreshAttemptID != nil {
            guard let renewed = try await renewEnding(session) else { return }
            session = renewed
        }
        do {
            try await logOut(session)
        } catch ClientFailure.refused(let refusal) where !refusal.isRetryable {
            // As above.
        }
    }

    private func logOut(_ session: Session) async throws {
        try await removeDevice(of: session)
        do {
            try await accounts.logOut(session)
        } catch ClientFailure.refused(let refusal) where refusal.status == 401 {
            // Its token is over, or the session is.
            guard let renewed = try await renewEnding(session) else { return }
            try await removeDevice(of: renewed)
            try await accounts.logOut(renewed)
        }
    }

    /// Takes the device off push, for servers that do not do it at the end of the session. Whatever the server answers, the session has
    /// to end: push may be away, or not be there at all.
    private func removeDevice(of session: Session) async throws {
        // Of a person who has signed in again, it may be registered in the new session, and a server removes it by the person.
        guard let token = kept.ending.first?.deviceToken, kept.current?.user.id != session.user.id else { return }
        let task = Task { [accounts] in try await accounts.removeDevice(token, in: session) }
        deviceRemoval = (session.user.id, task)
        let result = await task.result
        deviceRemoval = nil
        do { try result.get() } catch ClientFailure.refused {}
    }

    /// - Returns: nil if the session has ended, or if the server refuses for good to renew it.
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
            // Also where a person is suspended: other sessions wait behind this one.
            return nil
        }
    }

    private func replaceEnding(by session: Session) {
        _ = change { if !$0.ending.isEmpty { $0.ending[0].session = session } }
    }
}
