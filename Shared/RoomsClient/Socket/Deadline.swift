/// Does something within a time, and cancels it after.
///
/// - Parameter complaint: the failure's words.
/// - Throws: `ClientFailure.offline` when the time is over, and whatever `work` throws.
func within<Value: Sendable>(
    _ limit: Duration, by clock: any ClientClock, else complaint: String,
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await work() }
        group.addTask {
            try await clock.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let value = first else { throw ClientFailure.offline(complaint) }
        return value
    }
}
