import ParlorContracts
import ParlorEventLog
import ParlorServiceKitTesting
import ParlorStorage
import Testing

@testable import ParlorServiceKit

/// A service that follows a log, each time with another mistake.
private protocol MistakenService: Service {}

extension MistakenService {
    static var name: String { "index" }
    static var peer: BusPeer { .service(name, follows: ["notes"]) }
    static var migrations: [Migration] { [LogPositionsStore.migration(version: 1)] }
    func register(in requests: inout RequestTable) {}

    static func follow(_ context: ServiceContext) {
        _ = DurableFollower("notes", for: Self.self, context, Nothing())
    }
}

private struct Nothing: LogConsumer {
    func take(_ entries: [LogEntry], on connection: any Connection) throws {}
}

private struct WithoutRight: MistakenService {
    static let peer = BusPeer.service(name)
    init(_ context: ServiceContext) { Self.follow(context) }
}

private struct WithoutTable: MistakenService {
    static let migrations: [Migration] = []
    init(_ context: ServiceContext) { Self.follow(context) }
}

private struct WithoutMembership: MistakenService {
    init(_ context: ServiceContext) {}
    func register(in requests: inout RequestTable) { requests.onRoom("index.list") { _ in Reply() } }
}

private struct WithGap: MistakenService {
    static let migrations = [LogPositionsStore.migration(version: 2)]
    init(_ context: ServiceContext) {}
}

private struct WithTypo: MistakenService {
    static let migrations = [Migration(version: 1, name: "items", sql: "CREATE TABEL items (id TEXT)")]
    init(_ context: ServiceContext) {}
}

@Suite("A mistake in a service ends the process, and the message says what is wrong")
struct ServiceMistakesTests {
    private func expectMessage(
        _ message: String, _ result: ExitTest.Result?, _ location: SourceLocation = #_sourceLocation
    ) {
        let shown = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(shown.contains("Fatal error: \(message)"), sourceLocation: location)
    }

    @Test("following a log without the right to, or without a table for the position")
    func following() async {
        expectMessage(
            "index follows the log of notes, which `follows` in its `peer` does not list",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = try ServiceHarness<WithoutRight>()
            })
        expectMessage(
            "index follows a log, and its migrations lack LogPositionsStore.migration(version:)",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = try ServiceHarness<WithoutTable>()
            })
    }

    @Test("requests in rooms without the right to ask for their people")
    func rooms() async {
        expectMessage(
            "index registers with `onRoom`, so its `peer` has to request rooms.membership",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = try ServiceHarness<WithoutMembership>()
            })
    }

    @Test("migrations that do not count from 1, or that the database does not understand")
    func migrations() async {
        expectMessage(
            "the versions of migrations count from 1 without gaps, and these do not: 2 (positions in logs)",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = try ServiceHarness<WithGap>()
            })
        expectMessage(
            #"near "TABEL": syntax error in: CREATE TABEL items (id TEXT)"#,
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = try ServiceHarness<WithTypo>()
            })
    }

    @Test(
        "a name that is no word, or reserved, is refused before a database is made: it would have that name",
        arguments: ["my-index", "Index", "ïndex", "", "services", "gateway"])
    func name(name: String) throws {
        let configuration = try Configuration([], arguments: [])
        #expect(throws: ConfigurationError.self) { try DatabaseLocation(of: name, configuration) }
    }
}
