extension Outbox {
    /// Starts sending the room's messages, unless a task already does so.
    func wake(_ roomID: String) {
        guard !isStopped, lanes[roomID]?.sender == nil, stored.firstQueued(in: roomID) != nil else { return }
        lanes[roomID, default: Lane()].sender = Task { await sendAll(in: roomID) }
    }

    private func sendAll(in roomID: String) async {
        while !isStopped, let entry = stored.firstQueued(in: roomID) {
            let message = entry.message
            if clock.now.timeIntervalSince(entry.retriedAt ?? message.createdAt) > Self.maxAge {
                await setState(.failed(.tooOld), of: message.tempID, in: roomID)
                continue
            }
            await setState(.sending, of: message.tempID, in: roomID)
            let connection = connections
            let answer = await answer(to: message, in: roomID)
            guard !isStopped else { break }
            await take(answer, for: message.tempID, in: roomID, sentOver: connection)
        }
        // Nothing was awaited since the last check, so no new message can be left without a sender.
        lanes[roomID]?.sender = nil
    }

    private enum Answer {
        case stored(Message)
        case deleted
        case later(Duration?)
        case failed(SendFailure)
    }

    private func answer(to message: PendingMessage, in roomID: String) async -> Answer {
        do {
            return .stored(try await server.send(message.text, tempID: message.tempID, in: roomID))
        } catch ClientFailure.refused(let refusal) {
            // The server refuses the token, not the message. The message is sent after the next sign-in.
            if refusal.isRetryable || refusal.code == "unauthenticated" { return .later(refusal.retryAfter) }
            // An earlier attempt has arrived, and the message has been deleted since.
            if refusal.code == "message_not_found" { return .deleted }
            log.error(.messages, "refused", ["room": roomID], for: ClientFailure.refused(refusal))
            return .failed(SendFailure(code: refusal.code, message: refusal.message))
        } catch {
            // The call was offline or cancelled, its answer was unreadable, or nobody is signed in. In the last case
            // sending continues after the next sign-in, unless the person signs out: that removes all messages.
            return .later(nil)
        }
    }

    private func take(_ answer: Answer, for tempID: String, in roomID: String, sentOver connection: Int) async {
        switch answer {
        case .stored(let message):
            lanes[roomID]?.failures = 0
            stored.remove(tempID, in: roomID)
            await notifyFollowers(of: roomID, .stored(tempID: tempID, message))
        case .deleted:
            lanes[roomID]?.failures = 0
            stored.remove(tempID, in: roomID)
            await notifyFollowers(of: roomID, .removed(tempID: tempID))
        case .failed(let failure):
            lanes[roomID]?.failures = 0
            await setState(.failed(failure), of: tempID, in: roomID)
            if failure.code == "room_not_found" { await onUnknownRoom?(roomID) }
        case .later(let asked):
            let failures = lanes[roomID]?.failures ?? 0
            lanes[roomID]?.failures = failures + 1
            await setState(.queued, of: tempID, in: roomID)
            // If a connection came during the attempt, the next attempt uses it without a pause.
            guard asked != nil || connection == connections, !isStopped else { return }
            await pause(for: asked ?? pauseLength(after: failures), endsOnConnection: asked == nil, in: roomID)
        }
    }

    private func pauseLength(after failures: Int) -> Duration {
        var backoff = Backoff(from: settings.firstPause, upTo: settings.longestPause, after: failures)
        return backoff.next(random: random())
    }

    private func pause(for duration: Duration, endsOnConnection: Bool, in roomID: String) async {
        let clock = clock
        // A cancelled wait throws, and counts as finished.
        let task = Task { _ = try? await clock.sleep(for: duration) }
        lanes[roomID]?.pause = Pause(task: task, endsOnConnection: endsOnConnection)
        await task.value
        lanes[roomID]?.pause = nil
    }

    /// Sets a message's state, and notifies the followers.
    func setState(_ state: PendingMessage.State, of tempID: String, in roomID: String) async {
        guard let state = stored.setState(state, of: tempID, in: roomID) else { return }
        await notifyFollowers(of: roomID, .state(tempID: tempID, state))
    }
}
