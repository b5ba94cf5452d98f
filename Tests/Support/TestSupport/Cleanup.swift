/// Runs a test, then the clean-up, also if the test has failed.
///
/// - Throws: what the clean-up throws, else what the test has thrown.
public func withCleanup(_ test: () async throws -> Void, _ cleanUp: () async throws -> Void) async throws {
    let outcome: Result<Void, any Error>
    do {
        outcome = .success(try await test())
    } catch {
        outcome = .failure(error)
    }
    try await cleanUp()
    try outcome.get()
}
