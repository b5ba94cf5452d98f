// Changes are sent one at a time, in order.
extension Board {
    /// The time for which a move waits for the next position. A drag gives one for each frame: without the pause, each
    /// would be a request and two writes to the disk.
    static let movePause: Duration = .milliseconds(100)

    func send() {
        guard sending == nil, !isEnded else { return }
        sending = Task {
            await restore()
            var backoff = Backoff()
            while !isEnded, isRestored, clearings == 0, let operation = state.takeNext() {
                retryAfter = nil
                if await perform(operation) {
                    backoff.reset()
                } else if !isEnded {
                    let wait = backoff.next(random: random(), atLeast: retryAfter)
                    let task = Task { [clock] in try await clock.sleep(for: wait) }
                    pause = task
                    // A new connection ends the pause.
                    _ = await task.result
                    pause = nil
                }
            }
            sending = nil
            onSent()
        }
    }

    /// Ends the pause before the next attempt, so that waiting changes are sent now.
    func endPause() { pause?.cancel() }

    /// Sends one change and applies the answer. Returns false if a pause has to come before the next attempt.
    func perform(_ operation: BoardOperation) async -> Bool {
        do {
            let clears = clears
            let element = try await server.perform(operation, in: roomID)
            change { $0.finish(operation.id, with: element) }
            // The answer may be older than the clearing.
            if clears != self.clears, isShown { load() }
            return true
        } catch ClientFailure.refused(let refusal) where refusal.code == "version_conflict" && operation.isEdit {
            return await settleConflict(of: operation)
        } catch ClientFailure.refused(let refusal) where refusal.code == "element_not_found" {
            change { $0.finish(operation.id, with: nil) }
            return true
        } catch ClientFailure.refused(let refusal) where !refusal.isRetryable && refusal.code != "unauthenticated" {
            log.error(.boards, "refused", ["room": roomID], for: ClientFailure.refused(refusal))
            change { $0.fail(operation.id, SendFailure(code: refusal.code, message: refusal.message)) }
            if refusal.code == "room_not_found" { onUnknownRoom() }
            return true
        } catch {
            change { $0.putBack() }
            retryAfter = ClientFailure(error).retryAfter
            return false
        }
    }

    /// Handles the refusal of an edit whose base is outdated. Returns false if a pause has to come before the next
    /// attempt. A rebased edit is sent again at once.
    func settleConflict(of operation: BoardOperation) async -> Bool {
        guard case .edit(let content, _) = operation.change else { return false }
        // Only one fetch runs at a time, because `BoardState` records the elements that events touch for one only. So
        // if a fetch is running, this waits for it and for the next one.
        await refresh()
        guard let current = state.elements[operation.elementID], failure == nil else {
            change { $0.putBack() }
            return failure == nil
        }
        if current.content == content, current.isContentWhole {
            // An earlier attempt succeeded, but its answer was lost.
            change { $0.finish(operation.id, with: current) }
        } else if state.isOwnMove(current, since: operation) {
            change { $0.rebase(operation.id, on: current.version) }
        } else {
            change { $0.conflict(operation.id, with: current) }
        }
        return true
    }

    /// Waits until every change is stored or refused, or until the task is cancelled.
    func settle() async {
        await restore()
        // A move may have been made since `keepAll()` released the earlier ones.
        releaseMoves()
        while !Task.isCancelled, let sending {
            _ = try? await Task<Void, any Error> { await sending.value }.valueUnlessCancelled
        }
    }

    /// Lets moves wait for the next position.
    func holdMoves() {
        guard moving == nil, !state.heldMoves.isEmpty else { return }
        moving = Task { [weak self, clock] in
            // Cancelled if the moves are sent earlier.
            do { try await clock.sleep(for: Self.movePause) } catch { return }
            guard !Task.isCancelled else { return }
            self?.releaseMoves()
        }
    }

    /// Sends and writes the moves that wait for the next position.
    func releaseMoves() {
        moving?.cancel()
        moving = nil
        guard !isEnded, !state.heldMoves.isEmpty else { return }
        act { $0.releaseMoves() }
        keepChangesIfRestored()
    }
}
