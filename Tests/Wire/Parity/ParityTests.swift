import Testing

/// The same journeys on the server of ParlorClientTesting and on the real gateway with its services.
/// Clients must see the same.
@Suite("The scripted server and the real one", .timeLimit(.minutes(2)))
struct ParityTests {
    @Test("clients see the same of both", arguments: Journey.allCases)
    func parity(journey: Journey) async throws {
        let scripted = try await Site.scripted(journey.run)
        let real = try await Site.real(journey.run)
        #expect(scripted.count == real.count)
        for (scripted, real) in zip(scripted, real) { #expect(scripted == real) }
    }
}
