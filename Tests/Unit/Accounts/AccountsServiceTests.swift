import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorSecurity
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorTestSupport
import Testing

@testable import ParlorAccounts

/// The service over a bus, as others see it.
@Suite("The accounts service")
struct AccountsServiceTests {
    private let folder = TemporaryFolder()
    private let harness: ServiceHarness<AccountsService>

    init() throws { harness = try ServiceHarness(["--token-lifetime", "90s"], dataDirectory: folder.path) }

    @Test("a person registers, signs in and is identified over the bus, and the gateway's key accepts the token")
    func journey() async throws {
        try await harness.run {
            let alice = try SignedIn(
                await harness.ask("accounts.register") {
                    $0.member("username", "alice")
                    $0.member("password", "password")
                })
            let again = try SignedIn(
                await harness.ask("accounts.login") {
                    $0.member("username", "alice")
                    $0.member("password", "password")
                })
            #expect(again.person == alice.person)
            let me = try await harness.ask("accounts.me", by: alice.caller)
            #expect(Person(me.data) == alice.person)

            let secret = try SecretFile.loadOrCreate(folder.file("jwt.secret"))
            let now = ManualClock().now().milliseconds / 1000
            let keys = JSONWebKeySet([.hs256(secret: secret)])
            #expect(try JSONWebToken.verify(alice.token, keys: keys, at: now + 89)["sub"]?.string == alice.person.id)
            #expect(throws: JSONWebTokenError.expired) {
                try JSONWebToken.verify(alice.token, keys: keys, at: now + 90)
            }

            let renewed = try SignedIn(
                await harness.ask("accounts.refresh") { $0.member("refreshToken", again.refreshToken) })
            _ = try await harness.ask("accounts.logout", by: alice.caller) {
                $0.member("refreshToken", renewed.refreshToken)
            }
            let error = await failure {
                try await harness.ask("accounts.refresh") { $0.member("refreshToken", renewed.refreshToken) }
            }
            #expect(error?.code == .invalidToken)
        }
    }

    @Test("it asks the rooms service who shares a room, on behalf of the caller, and reports when it is unavailable")
    func roommates() async throws {
        try await harness.run {
            var people: [SignedIn] = []
            for name in ["alice", "bob", "carol"] {
                people.append(
                    try SignedIn(
                        await harness.ask("accounts.register") {
                            $0.member("username", name)
                            $0.member("password", "password")
                        }))
            }
            let (alice, bob) = (people[0], people[1])
            let away = await failure { try await harness.ask("accounts.without-rooms", by: alice.caller) }
            #expect(away?.code == .serviceUnavailable)

            let (ids, others) = ([bob.person.id], [bob.person.id, people[2].person.id])
            try harness.bus.respond(to: "rooms.roommates", queue: "rooms") { request in
                let isAlice =
                    request.data["userId"]?.string == alice.person.id && request.context.requestID == "request-1"
                    && request.data["among"]?.list(of: \.string) == others
                request.reply(
                    Reply(
                        .ok,
                        JSONWriter.value { $0.array(of: isAlice ? ids : []) { json, id in json.string(id) } }
                    ).json)
            }
            let found = try await harness.ask("accounts.without-rooms", by: alice.caller)
            #expect(found.data.array?.compactMap(Person.init).map(\.username) == ["carol"])
            #expect(found.page?.isNull == true)
        }
    }

    @Test("every route of the manifest is answered, and what needs a login is refused without one")
    func manifest() async throws {
        try await harness.run {
            let manifest = harness.service.manifest
            let limits = Set(manifest.limits.map(\.name))
            for route in manifest.routes {
                let error = await failure { try await harness.ask(route.subject) }
                // The token says who signs out.
                let needsCaller = route.needsLogin || route.subject == "accounts.logout"
                #expect(error?.code == (needsCaller ? .unauthenticated : .invalidField), "\(route.subject)")
                #expect(route.limits.allSatisfy(limits.contains))
            }
        }
    }
}
