import Contracts
import Foundation
import JSON
import MessageBus
import Reactor
import Security
import ServiceKit
import Storage
import Testing
import Workers

@testable import Accounts

/// The service as others see it: over a bus.
@Suite("The accounts service")
struct AccountsServiceTests {
    private let bus: any MessageBus = InProcessBus()
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    /// Runs the body while the service is on the bus.
    private func serving(_ body: (AccountsService) async throws -> Void) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        // Left behind if it fails, as a temporary folder may be.
        defer { try? FileManager.default.removeItem(at: folder) }
        let settings = [Setting.data] as [any AnySetting] + AccountsService.settings
        let workers = WorkerPool(threads: 1, maxWaiting: 8)
        let context = ServiceContext(
            configuration: try Configuration(settings, arguments: ["--token-lifetime", "90s"]),
            database: try SQLiteDatabase(.temporary, migrations: AccountsService.migrations), bus: bus,
            clock: ManualClock(), workers: workers, dataDirectory: folder.path)
        let service = try AccountsService(context)
        let group = try EventLoopGroup(loopCount: 1)
        let host = ServiceHost(service, context, on: group)
        try await host.start()
        try await body(service)
        await host.stop(within: .seconds(1))
        await workers.close()
        group.shutdown()
    }

    private func ask(
        _ subject: String, by caller: Caller? = nil, _ write: (inout JSONWriter) -> Void = { _ in }
    ) async throws -> Reply {
        let context = BusContext(requestID: "test", caller: caller?.json)
        return try Reply(await bus.request(subject, JSONWriter.object(write), context))
    }

    @Test("a person registers, signs in and is known, all over the bus, and the gateway's key believes the token")
    func journey() async throws {
        try await serving { service in
            let alice = try SignedIn(
                await ask("accounts.register") {
                    $0.member("username", "alice")
                    $0.member("password", "password")
                })
            let again = try SignedIn(
                await ask("accounts.login") {
                    $0.member("username", "alice")
                    $0.member("password", "password")
                })
            #expect(again.person == alice.person)
            let me = try await ask("accounts.me", by: alice.caller)
            #expect(Person(me.data) == alice.person)

            let secret = try SecretFile.loadOrCreate(folder.appendingPathComponent("jwt.secret").path)
            let now = ManualClock().now().milliseconds / 1000
            let keys = JSONWebKeySet([.hs256(secret: secret)])
            #expect(try JSONWebToken.verify(alice.token, keys: keys, at: now + 89)["sub"]?.string == alice.person.id)
            #expect(throws: JSONWebTokenError.expired) {
                try JSONWebToken.verify(alice.token, keys: keys, at: now + 90)
            }

            let renewed = try SignedIn(await ask("accounts.refresh") { $0.member("refreshToken", again.refreshToken) })
            _ = try await ask("accounts.logout", by: alice.caller) { $0.member("refreshToken", renewed.refreshToken) }
            let error = await failure {
                try await ask("accounts.refresh") { $0.member("refreshToken", renewed.refreshToken) }
            }
            #expect(error?.code == .invalidToken)
        }
    }

    @Test("it asks the rooms service who shares a room, on behalf of the caller, and says when it is away")
    func partners() async throws {
        try await serving { _ in
            var people: [SignedIn] = []
            for name in ["alice", "bob", "carol"] {
                people.append(
                    try SignedIn(
                        await ask("accounts.register") {
                            $0.member("username", name)
                            $0.member("password", "password")
                        }))
            }
            let (alice, bob) = (people[0], people[1])
            let away = await failure { try await ask("accounts.without-rooms", by: alice.caller) }
            #expect(away?.code == .serviceUnavailable)

            let ids = [bob.person.id]
            try bus.respond(to: "rooms.partners", queue: "rooms") { request in
                let isAlice = request.data["userId"]?.string == alice.person.id && request.context.requestID == "test"
                request.reply(
                    Reply(
                        .ok,
                        JSONWriter.value { $0.array(of: isAlice ? ids : []) { json, id in json.string(id) } }
                    ).json)
            }
            let found = try await ask("accounts.without-rooms", by: alice.caller)
            #expect(found.data.array?.compactMap(Person.init).map(\.username) == ["carol"])
            #expect(found.page?.isNull == true)
        }
    }

    @Test("every route of the manifest is answered, and what needs a login is refused without one")
    func manifest() async throws {
        try await serving { service in
            let limits = Set(service.manifest.limits.map(\.name))
            for route in service.manifest.routes {
                let error = await failure { try await ask(route.subject) }
                // Who signs out is whoever has the token.
                let needsCaller = route.needsLogin && route.subject != "accounts.logout"
                #expect(error?.code == (needsCaller ? .unauthenticated : .invalidField), "\(route.subject)")
                #expect(route.limits.allSatisfy(limits.contains))
            }
        }
    }
}
