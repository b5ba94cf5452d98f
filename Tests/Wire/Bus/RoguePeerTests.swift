import ParlorBus
import ParlorJSON
import ParlorMessageBus
import ParlorPush
import ParlorReactor
import ParlorServiceKit
import ParlorTestSupport
import Testing

import struct ParlorAccounts.AccountsService

/// A peer on the wire that has stolen one service's token.
@Suite("a rogue peer", .timeLimit(.minutes(1)))
struct RoguePeerTests {
    private static let tokens = [
        (peer: AccountsService.peer, token: "the token of accounts"), (PushService.peer, "the token of push!"),
        (BusPeer.operator, "the token of a person"),
    ]

    private func withServer(_ body: (BusServer) async throws -> Void) async throws {
        var settings = BrokerSettings()
        settings.access = .peers(try BusPeerTable(Self.tokens))
        let server = try await BusServer.start(host: "127.0.0.1", port: 0, settings: settings)
        try await body(server)
        await server.drain(timeout: .zero)
    }

    private func connect(_ server: BusServer, token: String?) throws -> RawClient {
        let client = try RawClient(port: server.port)
        let given = token.map { #","token":"\#($0)""# } ?? ""
        try client.send(line: #"{"op":"hello","version":1,"name":"accounts"\#(given)}"#)
        return client
    }

    @Test(
        "a peer without a token, with a wrong one, or with a token's digest is refused",
        arguments: [nil, "", "guess", "sha256:"])
    func strangers(token: String?) async throws {
        try await withServer { server in
            let stranger = try connect(server, token: token)
            #expect(try stranger.receiveLine()?.contains(#""code":"unauthorized""#) == true)
            #expect(try stranger.receiveLine() == nil)
        }
    }

    @Test("a peer with push's token receives no sign-in, announces no service and impersonates no other")
    func pushesToken() async throws {
        try await withServer { server in
            let accounts = try connect(server, token: "the token of accounts")
            _ = try accounts.receiveLine()
            try accounts.send(line: #"{"op":"serve","id":1,"subject":"accounts.>","queue":"accounts"}"#)
            try accounts.settle()
            let rogue = try connect(server, token: "the token of push!")
            #expect(try rogue.receiveLine()?.contains("welcome") == true)
            try rogue.send(line: #"{"op":"serve","id":1,"subject":"accounts.login","queue":"accounts"}"#)
            #expect(
                try rogue.receiveLine()
                    == #"{"op":"err","sub":1,"code":"forbidden","message":"`push` may not serve `accounts.login`"}"#)
            try rogue.send(line: #"{"op":"req","id":1,"subject":"messaging.list","caller":{"id":"alice"},"data":{}}"#)
            #expect(
                try rogue.receiveLine()
                    == #"{"op":"err","id":1,"code":"forbidden","message":"`push` may not request `messaging.list`"}"#)
            for subject in ["services.announce.evil", "messaging.log", "gateways.alive"] {
                try rogue.send(line: #"{"op":"pub","subject":"\#(subject)","data":{}}"#)
                #expect(try rogue.receiveLine()?.contains(#""code":"forbidden""#) == true)
            }
            // It is still what its token says.
            try rogue.send(line: #"{"op":"serve","id":2,"subject":"push.>","queue":"push"}"#)
            try rogue.settle()
            for id in 1...4 {
                try accounts.send(line: #"{"op":"req","id":\#(id),"subject":"accounts.login","data":{"password":"p"}}"#)
                #expect(try accounts.receiveLine()?.contains(#""subject":"accounts.login""#) == true)
            }
            #expect(server.counters.forbidden == 5)
        }
    }

    @Test("a bus client gets its refusal at once, and goes on")
    func client() async throws {
        try await withServer { server in
            let group = try EventLoopGroup(loopCount: 1)
            let warnings = Arrivals<String>()
            let bus = try await TCPBus.connect(
                host: "127.0.0.1", port: server.port, name: "t", token: "the token of push!", on: group.loops[0],
                onWarning: { warnings.add($0) })
            await #expect(throws: BusError.refused("`push` may not request `accounts.login`")) {
                _ = try await bus.request("accounts.login", .emptyObject, BusContext(requestID: ""))
            }
            try bus.respond(to: "accounts.>", queue: "accounts") { _ in Issue.record("it was asked") }
            #expect(try await warnings.next().contains("`push` may not serve `accounts.>`"))
            await bus.close()
            await finish(group)
        }
    }
}
