import Synchronization

/// Returns the result of work; nil if it takes longer than the limit. Work that is too slow goes on: it is neither
/// cancelled nor waited for.
public func result<Value: Sendable, Failure: Error>(
    within limit: Duration, of work: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value? {
    let result: Result<Value?, Failure> = await withCheckedContinuation { continuation in
        let waiting = Mutex<CheckedContinuation<Result<Value?, Failure>, Never>?>(continuation)
        let end: @Sendable (Result<Value?, Failure>) -> Void = { result in
            waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }?.resume(returning: result)
        }
        let timer = Task {
            try? await Task.sleep(for: limit)  // cancelled once the work is done
            end(.success(nil))
        }
        Task {
            do throws(Failure) {
                end(.success(try await work()))
            } catch {
                end(.failure(error))
            }
            timer.cancel()
        }
    }
    return try result.get()
}
