extension Result where Failure == any Error {
    /// Runs a body, so that its failure can be thrown after later steps.
    @MainActor
    init(catching body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
